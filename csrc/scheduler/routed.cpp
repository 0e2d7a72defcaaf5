// Tasks that circulate among clients: every finished one is routed anew, and busy clients queue [Generalized AsyncSGD].
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "arrivals.hpp"
#include "checks.hpp"
#include "fedbench/scheduler.hpp"
#include "restored.hpp"
#include "script.hpp"

namespace fedbench {

Routing::Routing(const std::vector<double>& probabilities) {
    if (probabilities.empty()) throw std::invalid_argument("routing: expected a probability for every client, got none");
    for (std::size_t i = 0; i < probabilities.size(); ++i)
        if (!(probabilities[i] > 0 && std::isfinite(probabilities[i])))
            throw std::invalid_argument("routing: probabilities must be finite and > 0, got " + number(probabilities[i]) + " (client " +
                                        std::to_string(i) + ")");
    sums_.resize(probabilities.size());
    std::partial_sum(probabilities.begin(), probabilities.end(), sums_.begin());
    if (!(std::abs(sums_.back() - 1) <= 1e-9))
        throw std::invalid_argument("routing: probabilities must sum to 1 within 1e-9, got " + number(sums_.back()));
}

std::uint32_t Routing::client(double u) const {
    const auto place = std::upper_bound(sums_.begin(), sums_.end(), u);  // the first sum above u
    return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(place - sums_.begin(), static_cast<std::ptrdiff_t>(sums_.size()) - 1));
}

namespace {

class RoutedTasks final : public ArchivedPolicy<RoutedTasks> {
public:
    RoutedTasks(Routed config, std::uint32_t clients)
        : config_(std::move(config)),
          clients_(clients),
          routing_(config_.routing),
          arrivals_(config_.buffer, 0, clients),
          first_(clients, kNobody),
          last_(clients, kNobody),
          free_from_(clients, 0) {
        if (config_.routing.size() != clients)
            throw std::invalid_argument("routing: expected " + std::to_string(clients) + " probabilities, got " +
                                        std::to_string(config_.routing.size()));
        if (config_.tasks < 1) throw std::invalid_argument("stream: concurrency must be >= 1, got 0");
        check_initial(config_.initial, config_.tasks);
    }

    template <class A>
    void archive(A& a) {
        a(arrivals_, first_, last_, after_, free_from_, vacant_, next_replacement_, random_);
    }

    void begin(Scheduler& s) override {
        if (s.loses_jobs())
            throw std::invalid_argument("stream: with routing, everybody must always be there and no job be lost, since nothing says what "
                                        "becomes of a queue whose client has left");
        random_ = Stream(s.system().seed, Purpose::initial);
        for (std::uint32_t i = 0; i < config_.tasks; ++i)
            start(s, config_.initial.empty() ? routing_.client(random_.uniform()) : named_client(config_.initial[i], "initial", clients_));
        random_ = Stream(s.system().seed, Purpose::replacement);
    }

    /// A client's tasks end in the order in which they were given to it, also those that end in one instant.
    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() != Phase::arrival) return start_all(s);
        const std::uint32_t client = event.client();
        const Scheduler::Slot slot = first_[client];
        require_restored(slot != kNobody, "an arrival");
        first_[client] = after_[slot];
        if (first_[client] == kNobody) last_[client] = kNobody;
        arrivals_.add(client, slot);
        if (vacant_++ == 0) s.at(s.now(), Phase::dispatch, 0);
        if (!arrivals_.is_full()) return;
        s.update(arrivals_.slots());
        arrivals_.clear();
    }

    void check(const Restored& r) const override {
        arrivals_.check(r);
        r.require_per_client(first_, "the queues");
        r.require_per_client(last_, "the queues");
        r.require_per_client(free_from_, "when clients are free");
        for (std::int64_t time : free_from_) require_restored(time >= 0 && time <= kForever / 2, "when clients are free");
        std::size_t queued = 0;
        for (std::uint32_t client = 0; client < clients_; ++client) {
            Scheduler::Slot last = kNobody;
            for (Scheduler::Slot slot = first_[client]; slot != kNobody; last = slot, slot = after_[slot])
                require_restored(slot < after_.size() && r.is_job(slot, client) && ++queued <= config_.tasks, "a queue");
            require_restored(last == last_[client], "a queue");
        }
        require_restored(vacant_ <= config_.tasks && next_replacement_ <= config_.replacements.size(), "the vacant places");
        require_restored(random_.is_sound(), "the stream of draws");
    }

    bool expects(const Restored&, const Event& event) const override {
        return event.phase() == Phase::dispatch || (event.phase() == Phase::arrival && first_[event.client()] != kNobody);
    }

private:
    static constexpr Scheduler::Slot kNobody = 0xffffffff;

    void start_all(Scheduler& s) {
        for (; vacant_ > 0; --vacant_) start(s, next());
    }

    std::uint32_t next() {
        return config_.scripted ? next_replacement(config_.replacements, next_replacement_, clients_) : routing_.client(random_.uniform());
    }

    /// The newest model to a client that may be busy: it goes there at once, and the task starts when all before it are sent back.
    void start(Scheduler& s, std::uint32_t client) {
        const Scheduler::Slot slot = s.dispatch(client, free_from_[client]);
        free_from_[client] = s.job(slot).t_arrive;
        if (after_.size() <= slot) after_.resize(slot + std::size_t{1}, kNobody);
        after_[slot] = kNobody;
        (first_[client] == kNobody ? first_[client] : after_[last_[client]]) = slot;
        last_[client] = slot;
    }

    Routed config_;
    std::uint32_t clients_;
    Routing routing_;
    Arrivals arrivals_;
    std::vector<Scheduler::Slot> first_, last_;  // by client: the queue of its tasks
    std::vector<Scheduler::Slot> after_;         // by slot: the next one of the queue
    std::vector<std::int64_t> free_from_;        // by client: when its last task arrives
    std::uint32_t vacant_ = 0;                   // tasks to be routed in this instant
    std::size_t next_replacement_ = 0;
    Stream random_{0, Purpose::replacement};
};

}  // namespace

std::unique_ptr<Policy> make_policy(Routed config, std::uint32_t clients) {
    return std::make_unique<RoutedTasks>(std::move(config), clients);
}

}  // namespace fedbench
