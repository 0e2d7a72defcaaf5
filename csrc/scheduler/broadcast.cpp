// Every version to every client; idle clients with a model start at once [DeFedAvg-IID].
//
// A receive buffer is a function of time: client i holds the newest version sent at or before now - download_i. So nothing is
// stored per client and version; only a client that waits for a model is woken, once. An update costs O(waiting), not O(N).
#include <algorithm>
#include <stdexcept>

#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

constexpr std::int32_t kNone = -1;

class BroadcastPolicy final : public Policy {
public:
    BroadcastPolicy(Broadcast config, std::uint32_t clients)
        : config_(config), clients_(clients), used_(clients, kNone), is_busy_(clients, 0) {
        if (config_.buffer < 1) throw std::invalid_argument("broadcast: buffer (cohort_size) must be >= 1, got 0");
        if (config_.receive == Receive::pop && config_.buffer > clients)
            throw std::invalid_argument("broadcast: an update needs " + std::to_string(config_.buffer) + " arrivals, but with receive = pop each of the " +
                                        std::to_string(clients) + " clients reports at most once per version: it would never come");
    }

    void begin(Scheduler& s) override {
        const SystemModel& system = s.system();
        if (!system.download.is_constant()) throw std::invalid_argument("broadcast: download times must be constant per client");
        for (std::uint32_t i = 0; i < clients_; ++i) longest_download_ = std::max(longest_download_, download(s, i));
        announce(s);
        for (std::uint32_t i = 0; i < clients_; ++i) wake(s, i, 0);
    }

    void on_event(Scheduler& s, const Event& event) override {
        const std::uint32_t client = event.client();
        switch (event.phase()) {
            case Phase::downloaded: s.at(s.now(), Phase::dispatch, client); break;
            case Phase::arrival: receive(s, event); break;
            default: start(s, client); break;
        }
    }

    std::int32_t oldest_startable(const Scheduler& s) const override {
        return std::max(0, newest_sent_by(s.now() - longest_download_));
    }

private:
    std::int64_t download(const Scheduler& s, std::uint32_t client) const {
        return s.system().download.unit(s.system().seed, Purpose::download, client, 0);
    }

    std::int32_t newest_sent_by(std::int64_t time) const {
        return static_cast<std::int32_t>(std::upper_bound(sent_.begin(), sent_.end(), time) - sent_.begin()) - 1;
    }

    void announce(Scheduler& s) {
        sent_.push_back(s.now());
        s.count_downloads(clients_);
    }

    /// The client starts when `version` has reached it.
    void wake(Scheduler& s, std::uint32_t client, std::int32_t version) {
        s.at(sent_[static_cast<std::size_t>(version)] + download(s, client), Phase::downloaded, client);
    }

    void start(Scheduler& s, std::uint32_t client) {
        const std::int32_t held = newest_sent_by(s.now() - download(s, client));
        const bool fresh = held > used_[client];
        if (is_busy_[client] || held == kNone || (config_.receive == Receive::pop && !fresh)) {
            if (!is_busy_[client]) wait(s, client);
            return;
        }
        used_[client] = held;
        is_busy_[client] = 1;
        const Scheduler::Slot slot = s.open(client, held, sent_[static_cast<std::size_t>(held)]);
        s.run(slot, s.now());
        s.send(slot);
        const bool next_model_takes_time = config_.receive == Receive::pop && download(s, client) > 0;
        if (s.job(slot).t_arrive == s.now() && !next_model_takes_time) s.refuse_standstill(slot);
    }

    /// No model that was not used yet: the next one is under way, or comes with a later update.
    void wait(Scheduler& s, std::uint32_t client) {
        const std::int32_t next = used_[client] + 1;
        if (next <= s.version()) wake(s, client, next);
        else waiting_.push_back(client);
    }

    void receive(Scheduler& s, const Event& event) {
        is_busy_[event.client()] = 0;
        s.at(s.now(), Phase::dispatch, event.client());
        buffered_.push_back(event.slot());
        if (buffered_.size() < config_.buffer) return;
        s.update(buffered_);
        buffered_.clear();
        if (s.finished()) return;
        announce(s);
        for (std::uint32_t i : waiting_) wake(s, i, s.version());
        waiting_.clear();
    }

    Broadcast config_;
    std::uint32_t clients_;
    std::vector<std::int32_t> used_;        // by client: the version it started from last
    std::vector<char> is_busy_;
    std::vector<std::int64_t> sent_;        // by version
    std::vector<std::uint32_t> waiting_;    // idle, and has used the newest version
    std::vector<Scheduler::Slot> buffered_;
    std::int64_t longest_download_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Broadcast config, std::uint32_t clients) {
    return std::make_unique<BroadcastPolicy>(config, clients);
}

}  // namespace fedbench
