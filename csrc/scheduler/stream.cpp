// Buffered asynchronous dispatch [FedBuff, FedAsync and their kin].
#include <numeric>
#include <stdexcept>

#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

class BufferedStream final : public Policy {
public:
    BufferedStream(StreamPolicy config, std::uint32_t clients) : config_(std::move(config)), clients_(clients) {
        check();
        if (draws()) {
            idle_.resize(clients);
            std::iota(idle_.begin(), idle_.end(), 0);
        } else {
            busy_.assign(clients, 0);
        }
    }

    void begin(Scheduler& s) override {
        if (config_.initial.empty()) {
            draw_initial(s);
        } else {
            start_scripted(s);
        }
        random_ = std::make_unique<fedbench::Stream>(s.system().seed, Purpose::replacement);
    }

    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() == Phase::dispatch) {
            for (std::uint32_t client : arrived_) replace(s, client);
            arrived_.clear();
            return;
        }
        const std::uint32_t client = event.client();
        if (draws()) idle_.push_back(client);
        else busy_[client] = 0;
        buffered_.push_back(event.slot());
        if (config_.order == DispatchOrder::before_update) {
            replace(s, client);
        } else {
            arrived_.push_back(client);
            if (arrived_.size() == 1) s.at(s.now(), Phase::dispatch, 0);
        }
        if (buffered_.size() == config_.buffer) {
            s.update(buffered_);
            buffered_.clear();
        }
    }

private:
    bool draws() const { return config_.restart == Restart::resample && !config_.scripted; }

    void check() const {
        const StreamPolicy& c = config_;
        if (c.concurrency < 1) throw std::invalid_argument("stream: concurrency must be >= 1, got 0");
        if (c.buffer < 1) throw std::invalid_argument("stream: buffer_size must be >= 1, got 0");
        if (c.concurrency > clients_)
            throw std::invalid_argument("stream: concurrency " + std::to_string(c.concurrency) + " is more than the " +
                                        std::to_string(clients_) + " clients");
        if (!c.initial.empty() && c.initial.size() != c.concurrency)
            throw std::invalid_argument("stream: initial lists " + std::to_string(c.initial.size()) + " clients, concurrency is " +
                                        std::to_string(c.concurrency));
    }

    std::uint32_t checked(std::int32_t client, const char* list) const {
        if (client < 0 || static_cast<std::uint32_t>(client) >= clients_)
            throw std::invalid_argument(std::string("stream: ") + list + " names client " + std::to_string(client) + ", there are " +
                                        std::to_string(clients_) + " clients");
        return static_cast<std::uint32_t>(client);
    }

    void start(Scheduler& s, std::uint32_t client) {
        if (!draws()) {  // a drawn client is idle by construction
            if (busy_[client])
                throw std::invalid_argument("stream: client " + std::to_string(client) + " is dispatched while it still works");
            busy_[client] = 1;
        }
        s.dispatch(client);
    }

    void start_scripted(Scheduler& s) {
        std::vector<char> started(clients_, 0);
        for (std::int32_t name : config_.initial) {
            const std::uint32_t client = checked(name, "initial");
            if (started[client]) throw std::invalid_argument("stream: initial lists client " + std::to_string(client) + " twice");
            started[client] = 1;
            start(s, client);
        }
        std::erase_if(idle_, [&](std::uint32_t client) { return started[client] != 0; });
    }

    /// concurrency distinct clients: the first places of a Fisher-Yates shuffle of 0 .. N - 1; the rest stay idle.
    void draw_initial(Scheduler& s) {
        fedbench::Stream random(s.system().seed, Purpose::initial);
        std::vector<std::uint32_t> order(clients_);
        std::iota(order.begin(), order.end(), 0);
        for (std::uint32_t i = 0; i < config_.concurrency; ++i) {
            std::swap(order[i], order[i + random.below(clients_ - i)]);
            start(s, order[i]);
        }
        if (draws()) idle_.assign(order.begin() + config_.concurrency, order.end());
    }

    void replace(Scheduler& s, std::uint32_t arrived) {
        if (config_.restart == Restart::self) return start(s, arrived);
        if (config_.scripted) {
            if (next_replacement_ == config_.replacements.size())
                throw std::invalid_argument("stream: replacements has " + std::to_string(config_.replacements.size()) + " entries, entry " +
                                            std::to_string(next_replacement_) + " was needed");
            return start(s, checked(config_.replacements[next_replacement_++], "replacements"));
        }
        const std::uint32_t place = random_->below(static_cast<std::uint32_t>(idle_.size()));
        const std::uint32_t client = idle_[place];
        idle_[place] = idle_.back();
        idle_.pop_back();
        start(s, client);
        fetch_ahead(s);
    }

    /// With many clients every draw reads memory at random, and waiting for it is most of a plan's time. The next draws are known
    /// already, since as many clients will be idle then: ask for the place of the one after the next, and for the client of the next.
    void fetch_ahead(const Scheduler& s) const {
        fedbench::Stream ahead = *random_;
        const auto idle = static_cast<std::uint32_t>(idle_.size());
        const std::uint32_t next = ahead.below(idle + 1);
        if (next < idle) s.prefetch(idle_[next]);
        __builtin_prefetch(idle_.data() + ahead.below(idle + 1));
    }

    StreamPolicy config_;
    std::uint32_t clients_;
    std::vector<std::uint32_t> idle_;  // if drawn
    std::vector<char> busy_;           // by client, if scripted
    std::vector<Scheduler::Slot> buffered_;
    std::vector<std::uint32_t> arrived_;
    std::size_t next_replacement_ = 0;
    std::unique_ptr<fedbench::Stream> random_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(StreamPolicy config, std::uint32_t clients) {
    return std::make_unique<BufferedStream>(std::move(config), clients);
}

}  // namespace fedbench
