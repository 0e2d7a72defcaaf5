// The policy Broadcast: every version goes to every client; idle clients with a model start at once
// [DeFedAvg-IID].
#include <stdexcept>

#include "fedbench/scheduler.hpp"
#include "receive_buffers.hpp"

namespace fedbench {

namespace {

class BroadcastPolicy final : public Policy {
public:
    BroadcastPolicy(Broadcast config, std::uint32_t clients) : config_(config), received_(clients, config.receive), is_busy_(clients, 0) {
        if (config_.buffer < 1) throw std::invalid_argument("broadcast: buffer (cohort_size) must be >= 1, got 0");
        if (config_.receive == Receive::pop && config_.buffer > clients)
            throw std::invalid_argument("broadcast: an update needs " + std::to_string(config_.buffer) +
                                        " arrivals, but with receive = pop each of the " + std::to_string(clients) +
                                        " clients reports at most once per version: it would never come");
    }

    void begin(Scheduler& s) override { received_.begin(s, "broadcast"); }

    void on_event(Scheduler& s, const Event& event) override {
        const std::uint32_t client = event.client();
        switch (event.phase()) {
            case Phase::arrival:
                return receive(s, event);
            case Phase::lost:
                s.lose(event.slot());
                return set_free(s, client);
            case Phase::dispatch:
                return start(s, client);
            default:  // it has a model, or is back
                return s.at(s.now(), Phase::dispatch, client);
        }
    }

    void updated(Scheduler& s) override { received_.announce(s); }

    std::int32_t oldest_startable(const Scheduler& s) const override { return received_.oldest_held(s); }

    /// All clients except those that are in the buffer already.
    std::vector<std::int32_t> missing(const Scheduler& s) const override {
        std::vector<char> reported(is_busy_.size(), 0);
        for (Scheduler::Slot slot : buffered_) reported[s.job(slot).client] = 1;
        std::vector<std::int32_t> clients;
        for (std::size_t client = 0; client < reported.size(); ++client)
            if (!reported[client]) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    void start(Scheduler& s, std::uint32_t client) {
        if (is_busy_[client]) return;
        if (!s.is_here(client)) return s.await_return(client);
        const std::int32_t held = received_.take(s, client);
        if (held == ReceiveBuffers::kNone) return;
        is_busy_[client] = 1;
        const Scheduler::Slot slot = s.open(client, held, received_.sent(held));
        s.run(slot, s.now());
        s.send(slot, s.job(slot).t_finish);
        const bool next_model_takes_time = config_.receive == Receive::pop && received_.download(s, client) > 0;
        const bool takes_no_time = s.job(slot).t_arrive == s.now() || s.job(slot).t_lost == s.now();
        if (takes_no_time && !next_model_takes_time) s.refuse_standstill(slot);
    }

    void set_free(Scheduler& s, std::uint32_t client) {
        is_busy_[client] = 0;
        s.at(s.now(), Phase::dispatch, client);
    }

    void receive(Scheduler& s, const Event& event) {
        set_free(s, event.client());
        buffered_.push_back(event.slot());
        if (buffered_.size() < config_.buffer) return;
        s.update(buffered_);
        buffered_.clear();
    }

    Broadcast config_;
    ReceiveBuffers received_;
    std::vector<char> is_busy_;
    std::vector<Scheduler::Slot> buffered_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Broadcast config, std::uint32_t clients) { return std::make_unique<BroadcastPolicy>(config, clients); }

}  // namespace fedbench
