// Synchronous rounds [FedAvg and its kin].
#include "cohort.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

class RoundsPolicy final : public Policy {
public:
    RoundsPolicy(Rounds config, std::uint32_t clients) : cohort_("rounds", "round", std::move(config), clients), copies_(clients, 0) {}

    void begin(Scheduler& s) override {
        const std::vector<std::uint32_t>& selected = cohort_.draw(s.system().seed, static_cast<std::uint32_t>(s.version()));
        distinct_.clear();
        arrived_.clear();
        expected_ = selected.size();
        for (std::uint32_t client : selected)
            if (copies_[client]++ == 0) distinct_.push_back(client);
        for (std::uint32_t client : distinct_) s.dispatch(client);
    }

    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() == Phase::dispatch) return begin(s);
        const std::uint32_t client = event.client();
        arrived_.insert(arrived_.end(), copies_[client], event.slot());
        copies_[client] = 0;
        if (arrived_.size() < expected_) return;
        s.update(arrived_);
        if (!s.finished()) s.at(s.now(), Phase::dispatch, 0);
    }

    std::vector<std::int32_t> missing() const override {
        std::vector<std::int32_t> clients;
        for (std::uint32_t client : distinct_)
            if (copies_[client] > 0) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    Cohort cohort_;
    std::vector<std::uint32_t> copies_;  // by client: how often drawn and not yet arrived
    std::vector<std::uint32_t> distinct_;
    std::size_t expected_ = 0;
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Rounds config, std::uint32_t clients) {
    return std::make_unique<RoundsPolicy>(std::move(config), clients);
}

}  // namespace fedbench
