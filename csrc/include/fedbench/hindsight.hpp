// Looks back on a plan: answers what its columns do not tell about jobs that did not end, and about
// absences.
#pragma once

#include <cstdint>
#include <vector>

#include "fedbench/availability.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

/// Answers from the same draws as the plan. Clients must exist. Not thread-safe.
class Hindsight {
public:
    /// Keeps a copy of what it needs; the scheduler may go on.
    explicit Hindsight(const Scheduler& scheduler);

    /// Time of work in nanoseconds, whole local steps, and mini-batch gradients; those beside the
    /// steps come first.
    struct Done {
        std::int64_t worked;
        std::int32_t steps;
        std::int64_t gradients;
    };
    /// Returns what job k of `client` did of its `steps` if it began to compute at `begin` and was
    /// stopped at `end`, unless it was done before.
    Done done(std::uint32_t client, std::uint32_t k, std::int32_t steps, std::int64_t begin, std::int64_t end);
    /// Returns whether the client lost what it had at `time` by leaving: whether a stay (the last
    /// one, if work pauses) ends there.
    bool is_left(std::uint32_t client, std::int64_t time);
    /// Returns the time in [begin, end) that the client is there. Questions may come in any order;
    /// they take O(1) amortised if they ascend per client.
    std::int64_t there(std::uint32_t client, std::int64_t begin, std::int64_t end);
    /// Returns the client's stays that begin before `until`, cut to [0, until).
    std::vector<Window> stays(std::uint32_t client, std::int64_t until) const;

    std::uint32_t clients() const { return system_.clients; }

private:
    const Window& at(std::uint32_t client, std::int64_t time);

    SystemModel system_;  // without its availability: that is in presence_
    Presence presence_;   // of time 0
    bool pauses_;
    std::vector<Window> windows_;  // by client: the stay of the last question
};

}  // namespace fedbench
