// The policy Rounds: synchronous rounds [FedAvg and its kin].
#include <algorithm>
#include <stdexcept>

#include "cohort.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

/// Returns the config of a cohort with its reserve.
Rounds widened(Rounds config) {
    if (config.cohort > 0) config.cohort += config.over_selection;
    return config;
}

class RoundsPolicy final : public Policy {
public:
    RoundsPolicy(Rounds config, std::uint32_t clients)
        : deadline_(config.deadline_ns),
          over_selection_(config.over_selection),
          cohort_("rounds", "round", widened(std::move(config)), clients),
          copies_(clients, 0) {
        if (deadline_ < 0) throw std::invalid_argument("rounds: deadline_seconds must be > 0, got a negative one");
    }

    void begin(Scheduler& s) override {
        if (cohort_.needs_answer()) return ask(s);
        const std::vector<std::uint32_t>& selected = cohort_.draw(s.system().seed, round_, {&s});
        is_waiting_ = selected.empty();
        if (is_waiting_) return wait(s);
        wanted_ = wanted(cohort_.full_size(round_));
        ++round_;
        distinct_.clear();
        jobs_.clear();
        arrived_.clear();
        for (std::uint32_t client : selected)
            if (copies_[client]++ == 0) distinct_.push_back(client);
        cohort_.forget_answer();
        for (std::uint32_t client : distinct_) jobs_.push_back(s.dispatch(client));
        awaited_ = distinct_.size();
        if (deadline_ > 0) s.at(s.now() + deadline_, Phase::deadline, 0);
    }

    void on_event(Scheduler& s, const Event& event) override {
        switch (event.phase()) {
            case Phase::arrival:
                arrived_.insert(arrived_.end(), copies_[event.client()], event.slot());
                return leave(s, event.client());
            case Phase::lost:
                s.lose(event.slot());
                return leave(s, event.client());
            case Phase::deadline:
                return close(s);
            default:
                return begin(s);
        }
    }

    /// Makes the next round start.
    void updated(Scheduler& s) override { s.at(s.now(), Phase::dispatch, 0); }

    void select(Scheduler& s, const std::vector<std::uint32_t>& clients) override {
        wanted(clients.size());
        cohort_.answer(clients);
        begin(s);
    }

    std::vector<std::int32_t> missing(const Scheduler&) const override {
        std::vector<std::int32_t> clients;
        for (std::uint32_t client : is_waiting_ ? cohort_.candidates(round_) : distinct_)
            if (is_waiting_ || copies_[client] > 0) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    /// Asks for the clients of the round when somebody is there.
    void ask(Scheduler& s) {
        const std::vector<std::uint32_t> everybody = cohort_.candidates(round_);
        is_waiting_ = std::none_of(everybody.begin(), everybody.end(), [&](std::uint32_t client) { return s.is_here(client); });
        if (is_waiting_) wait(s);
        else s.ask();
    }

    /// Makes the round start when the first client of which it could be made is back.
    void wait(Scheduler& s) const {
        std::int64_t earliest = kForever;
        for (std::uint32_t client : cohort_.candidates(round_)) earliest = std::min(earliest, s.returns(client));
        if (earliest != kForever) s.at(earliest, Phase::dispatch, 0);
    }

    /// Returns how many entries make the update of a round of `full` entries.
    std::size_t wanted(std::size_t full) const {
        if (full <= over_selection_)
            throw std::invalid_argument("rounds: over_selection " + std::to_string(over_selection_) + " leaves nobody of the " +
                                        std::to_string(full) + " clients of round " + std::to_string(round_));
        return full - over_selection_;
    }

    /// Called when the client's job has arrived, or never will.
    void leave(Scheduler& s, std::uint32_t client) {
        copies_[client] = 0;
        if (--awaited_ == 0 || arrived_.size() >= wanted_) close(s);
    }

    void close(Scheduler& s) {
        for (std::size_t i = 0; awaited_ > 0 && i < distinct_.size(); ++i) {
            if (copies_[distinct_[i]] == 0) continue;
            copies_[distinct_[i]] = 0;
            --awaited_;
            s.call_off(jobs_[i]);
        }
        s.forget_events();  // the deadline, and what would have become of the jobs called off
        if (arrived_.size() > wanted_) arrived_.resize(wanted_);
        if (arrived_.empty()) updated(s);
        else s.update(arrived_);
    }

    std::int64_t deadline_;
    std::uint32_t over_selection_;
    Cohort cohort_;
    std::uint32_t round_ = 0;            // rounds begun
    bool is_waiting_ = false;            // whether nobody of the next round is there
    std::vector<std::uint32_t> copies_;  // by client: how often drawn, while its job is under way
    std::vector<std::uint32_t> distinct_;
    std::vector<Scheduler::Slot> jobs_;  // of distinct_
    std::size_t awaited_ = 0;            // jobs under way
    std::size_t wanted_ = 0;             // entries that make the update
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Rounds config, std::uint32_t clients) {
    return std::make_unique<RoundsPolicy>(std::move(config), clients);
}

}  // namespace fedbench
