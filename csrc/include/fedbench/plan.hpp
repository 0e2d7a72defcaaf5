// What the scheduler produces: jobs and server updates as columns (struct of arrays).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedbench {

inline constexpr std::int64_t kNever = -1;  ///< a time that did not happen
inline constexpr std::int32_t kNotConsumed = -1;

/// One local training run. Times are nanoseconds of virtual time.
struct Job {
    std::uint32_t client = 0;
    std::uint32_t k = 0;    ///< the client's own job counter
    std::int32_t base = 0;  ///< version whose model it starts from
    std::int32_t steps = 0;
    std::int64_t t_dispatch = kNever, t_start = kNever, t_finish = kNever, t_arrive = kNever;
    std::int64_t t_lost = kNever;
    std::int64_t t_stop = kNever;  ///< the server called it off

    /// Sets to kNever what has not happened by `time`.
    void forget_after(std::int64_t time) {
        for (std::int64_t* t : {&t_start, &t_finish, &t_arrive, &t_lost})
            if (*t > time) *t = kNever;
    }
};

/// Jobs as columns, in the order in which they were closed: consumed, lost, discarded, called off,
/// or still open when the plan ended. Times of jobs that were open include what was still to come.
struct JobColumns {
    std::vector<std::int32_t> client, k, base, steps;
    std::vector<std::int32_t> consumed_by;  ///< the update (0, 1, ..) that consumed the job, or kNotConsumed
    std::vector<std::int64_t> t_dispatch, t_start, t_finish, t_arrive, t_lost, t_stop;

    std::size_t size() const { return client.size(); }
    void append(const Job& job, std::int32_t update);
};

/// Server updates as columns. Update u turns version first_version + u into the next one at
/// `time[u]` and consumes the jobs `entries[offsets[u] .. offsets[u + 1])` (indices into the
/// chunk's jobs, arrival order, repeated by multiplicity).
struct UpdateColumns {
    std::vector<std::int64_t> time;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> entries;
};

/// A piece of the plan: up to max_updates updates with all jobs that were closed meanwhile.
struct PlanChunk {
    std::int32_t first_version = 0;
    JobColumns jobs;
    UpdateColumns updates;
    std::vector<std::int64_t> resumed;     ///< when jobs began on a version that their client held: nothing was sent for them
    std::vector<std::int32_t> live_bases;  ///< versions that later chunks may still start from or consume, ascending
    bool done = false;
};

enum class Outcome { running, finished, stalled };

/// Totals since time 0, which are known without keeping the plan.
struct PlanTotals {
    std::int64_t jobs_created = 0;
    std::int64_t downloads = 0;       ///< models sent to clients whose transfer began
    std::int64_t messages_peak = 0;   ///< most versions whose message had to be kept at one time
    std::int64_t open_jobs_peak = 0;  ///< most jobs neither consumed nor discarded at one time
};

}  // namespace fedbench
