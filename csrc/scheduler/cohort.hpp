// Who takes part in a round or a poll: the cohorts of Rounds, Mailbox and Poll.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fedbench/philox.hpp"
#include "fedbench/policies.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

/// Cohort t is drawn from RandomStream(seed, selection, 0, t), or is row t of the script; it
/// depends on nothing else.
class Cohort {
public:
    /// `policy` and `unit` ("round", "poll") are the words of the messages. Throws
    /// std::invalid_argument.
    Cohort(std::string policy, std::string unit, Rounds config, std::uint32_t clients);

    /// Says whether a client is there now; without a scheduler, everybody is.
    struct Here {
        Scheduler* scheduler;
        bool operator()(std::uint32_t client) const { return scheduler == nullptr || scheduler->is_here(client); }
    };

    /// Returns the clients of cohort t with multiplicity, in the order of the draw, valid until the
    /// next call. O(cohort), `all` O(N). The draw goes on until it has enough clients that are
    /// there, or there are no more: then it is O(N) at worst, and empty if no candidate is there.
    const std::vector<std::uint32_t>& draw(std::uint64_t seed, std::uint32_t t, Here here = {});
    /// Returns the clients of which cohort t could be made.
    std::vector<std::uint32_t> candidates(std::uint32_t t) const;
    /// Sets the caller's selection (Select::external), which all calls for the next round return,
    /// until it is forgotten.
    void answer(std::vector<std::uint32_t> clients) { answer_ = std::move(clients); }
    void forget_answer() { answer_.clear(); }
    bool needs_answer() const { return config_.select == Select::external && answer_.empty(); }
    /// Returns how many entries cohort t would have if everybody were there.
    std::size_t full_size(std::uint32_t t) const;

    /// Returns how many entries cohort t can have at most. A caller's selection is not kept, so
    /// there it is a number that fits into memory.
    std::size_t most(std::uint32_t t) const { return config_.select == Select::external ? kMostSelected : full_size(t); }

private:
    static constexpr std::size_t kMostSelected = std::size_t{1} << 26;

    void check() const;
    void check_probabilities() const;
    void draw_distinct(RandomStream& random, Here here);
    void draw_repeatedly(RandomStream& random, Here here);
    std::uint32_t draw_weighted(const std::vector<double>& cumulative, double u) const;
    bool is_given() const { return config_.select == Select::scripted || config_.select == Select::external; }
    std::vector<std::uint32_t> given(std::uint32_t t) const;

    std::string policy_, unit_;
    Rounds config_;
    std::uint32_t clients_;
    std::vector<std::uint32_t> pool_;
    std::vector<double> cumulative_;
    std::vector<std::uint32_t> selected_;
    std::vector<std::uint32_t> answer_;
};

/// Returns a config with the script `selections` if there is one, else with `cohort` clients by
/// `select`.
inline Rounds scripted_or(Select select, std::uint32_t cohort, Table<std::int32_t> selections) {
    const bool scripted = selections.offsets.size() > 1;
    return {scripted ? Select::scripted : select, cohort, {}, std::move(selections), 0, 0};
}

}  // namespace fedbench
