// The policy Routed: tasks circulate among clients; every finished one is routed anew, and busy
// clients queue [Generalized AsyncSGD].
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "arrivals.hpp"
#include "checks.hpp"
#include "fedbench/scheduler.hpp"
#include "script.hpp"

namespace fedbench {

Routing::Routing(const std::vector<double>& probabilities) {
    if (probabilities.empty()) throw std::invalid_argument("routing: expected a probability for every client, got none");
    for (std::size_t i = 0; i < probabilities.size(); ++i)
        require(probabilities[i] > 0 && std::isfinite(probabilities[i]), "routing", "probabilities", "finite and > 0", probabilities[i], i);
    sums_.resize(probabilities.size());
    std::partial_sum(probabilities.begin(), probabilities.end(), sums_.begin());
    if (!(std::abs(sums_.back() - 1) <= 1e-9))
        throw std::invalid_argument("routing: probabilities must sum to 1 within 1e-9, got " + number(sums_.back()));
    guide_.resize(sums_.size());
    std::uint32_t i = 0;
    for (std::size_t k = 0; k < guide_.size(); guide_[k++] = i)
        while (i + 1 < sums_.size() && sums_[i] * static_cast<double>(guide_.size()) <= static_cast<double>(k)) ++i;
}

std::uint32_t Routing::client(double u) const {
    const auto last = static_cast<std::uint32_t>(sums_.size() - 1);
    if (!(u < 1)) return last;
    std::uint32_t i = guide_[std::min(static_cast<std::uint32_t>(std::max(u, 0.0) * static_cast<double>(sums_.size())), last)];
    while (i > 0 && u < sums_[i - 1]) --i;  // a product is rounded
    while (i < last && u >= sums_[i]) ++i;
    return i;
}

namespace {

class RoutedTasks final : public Policy {
public:
    RoutedTasks(Routed config, std::uint32_t clients)
        : config_(std::move(config)),
          clients_(clients),
          routing_(config_.routing),
          arrivals_(config_.buffer, 0, clients),
          queues_(clients) {
        if (config_.routing.size() != clients)
            throw std::invalid_argument("routing: expected " + std::to_string(clients) + " probabilities, got " +
                                        std::to_string(config_.routing.size()));
        if (config_.tasks < 1) throw std::invalid_argument("stream: concurrency must be >= 1, got 0");
        check_initial(config_.initial, config_.tasks);
    }

    void begin(Scheduler& s) override {
        if (s.loses_jobs())
            throw std::invalid_argument(
                "stream: with routing, everybody must always be there and no job be lost, since nothing says what "
                "becomes of a queue whose client has left");
        random_ = RandomStream(s.system().seed, Purpose::initial);
        for (std::uint32_t i = 0; i < config_.tasks; ++i)
            start(s, config_.initial.empty() ? routing_.client(random_.uniform()) : named_client(config_.initial[i], "initial", clients_));
        random_ = RandomStream(s.system().seed, Purpose::replacement);
    }

    /// A client's tasks end in the order in which they were given to it, also those that end in one
    /// instant.
    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() != Phase::arrival) return start_all(s);
        const std::uint32_t client = event.client();
        Queue& queue = queues_[client];
        const Scheduler::Slot slot = queue.first;
        queue.first = after_[slot];
        if (queue.first == kNobody) queue.last = kNobody;
        arrivals_.add(client, slot);
        if (vacant_++ == 0) s.at(s.now(), Phase::dispatch, 0);
        if (!arrivals_.is_full()) return;
        s.update(arrivals_.slots());
        arrivals_.clear();
    }

private:
    static constexpr Scheduler::Slot kNobody = 0xffffffff;

    /// A client's tasks, and when the last of them arrives.
    struct Queue {
        Scheduler::Slot first = kNobody, last = kNobody;
        std::int64_t free_from = 0;
    };

    void start_all(Scheduler& s) {
        for (; vacant_ > 0; --vacant_) start(s, next());
    }

    std::uint32_t next() {
        return config_.scripted ? next_replacement(config_.replacements, next_replacement_, clients_) : routing_.client(random_.uniform());
    }

    /// Sends the newest model to a client that may be busy. It goes there at once, and the task
    /// starts when the results of all tasks before it are sent.
    void start(Scheduler& s, std::uint32_t client) {
        Queue& queue = queues_[client];
        const Scheduler::Slot slot = s.dispatch(client, queue.free_from);
        queue.free_from = s.job(slot).t_arrive;
        if (after_.size() <= slot) after_.resize(slot + std::size_t{1}, kNobody);
        after_[slot] = kNobody;
        (queue.first == kNobody ? queue.first : after_[queue.last]) = slot;
        queue.last = slot;
    }

    Routed config_;
    std::uint32_t clients_;
    Routing routing_;
    Arrivals arrivals_;
    std::vector<Queue> queues_;           // by client
    std::vector<Scheduler::Slot> after_;  // by slot: the next one of the queue
    std::uint32_t vacant_ = 0;            // tasks to be routed in this instant
    std::size_t next_replacement_ = 0;
    RandomStream random_{0, Purpose::replacement};
};

}  // namespace

std::unique_ptr<Policy> make_policy(Routed config, std::uint32_t clients) {
    return std::make_unique<RoutedTasks>(std::move(config), clients);
}

}  // namespace fedbench
