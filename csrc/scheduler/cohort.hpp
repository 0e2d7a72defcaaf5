// Who takes part in a round or a poll: the cohorts of Rounds, Mailbox and Poll.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fedbench/philox.hpp"
#include "fedbench/policies.hpp"

namespace fedbench {

/// Cohort t is drawn from Stream(seed, selection, 0, t), or is row t of the script; it depends on nothing else.
class Cohort {
public:
    /// `policy` and `unit` ("round", "poll") are the words of the messages. Throws std::invalid_argument.
    Cohort(std::string policy, std::string unit, Rounds config, std::uint32_t clients);

    /// Clients of cohort t with multiplicity, in the order of the draw; valid until the next call. O(cohort), `all` O(N).
    const std::vector<std::uint32_t>& draw(std::uint64_t seed, std::uint32_t t);

private:
    void check() const;
    void check_probabilities() const;
    void draw_distinct(Stream& random);
    std::uint32_t draw_weighted(double u) const;
    void read_script(std::uint32_t t);

    std::string policy_, unit_;
    Rounds config_;
    std::uint32_t clients_;
    std::vector<std::uint32_t> pool_;
    std::vector<double> cumulative_;
    std::vector<std::uint32_t> selected_;
};

/// `selections` if there are any, else `cohort` clients by `select`.
inline Rounds scripted_or(Select select, std::uint32_t cohort, Table<std::int32_t> selections) {
    const bool scripted = selections.offsets.size() > 1;
    return {scripted ? Select::scripted : select, cohort, {}, std::move(selections)};
}

}  // namespace fedbench
