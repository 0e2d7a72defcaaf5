// Systems and whole plans for the scheduler's tests.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench::testing {

inline constexpr std::int64_t kSecond = kNanosecondsPerSecond;
inline constexpr std::int64_t kQuarter = kSecond / 4;

inline Durations seconds(const std::string& name, std::vector<double> values) {
    return Durations(name, DurationKind::constant, std::move(values), {}, false, {});
}

template <typename T>
Table<T> table(const std::vector<std::vector<T>>& rows) {
    Table<T> out;
    out.offsets.push_back(0);
    for (const auto& row : rows) {
        out.values.insert(out.values.end(), row.begin(), row.end());
        out.offsets.push_back(static_cast<std::int64_t>(out.values.size()));
    }
    return out;
}

inline SystemModel fixed_system(std::vector<double> compute, double download = 0, double upload = 0) {
    const auto clients = static_cast<std::uint32_t>(compute.size());
    return {clients,
            0,
            seconds("compute", std::move(compute)),
            seconds("download", {download}),
            seconds("upload", {upload}),
            Steps::constant({5})};
}

inline Budget updates(std::int32_t count) { return {count, 1'000'000 * kSecond, std::int64_t{1} << 40}; }

/// Clients and replacements drawn.
inline StreamPolicy stream(std::uint32_t concurrency, std::uint32_t buffer) {
    StreamPolicy policy;
    policy.concurrency = concurrency;
    policy.buffer = buffer;
    return policy;
}

/// Everybody restarts itself; what is staler than `most` is refused, and stopped if `stops`.
inline StreamPolicy fresh_stream(std::uint32_t clients, std::uint32_t buffer, std::int64_t most, bool stops) {
    StreamPolicy policy = stream(clients, buffer);
    policy.restart = Restart::self;
    policy.max_staleness = most;
    policy.stop_stale = stops;
    return policy;
}

/// A buffer that closes by the harmonic mean of the clients' shares.
inline StreamPolicy harmonic_stream(std::uint32_t clients, double size, bool stops) {
    StreamPolicy policy = fresh_stream(clients, 1, 0, stops);
    policy.harmonic = size;
    return policy;
}

/// Tasks that are routed uniformly.
inline Routed routed(std::uint32_t clients, std::uint32_t tasks, std::uint32_t buffer) {
    return {tasks, buffer, std::vector<double>(clients, 1.0 / clients), {}, {}};
}

/// A whole plan, its chunks put behind one another.
struct Plan {
    JobColumns jobs;
    UpdateColumns updates;
    std::string ended_by;
    PlanTotals totals;
    std::int64_t end = 0;

    Plan(const SystemModel& system, const PolicyConfig& policy, const Budget& budget, std::int32_t chunk_size = 1 << 30) {
        Scheduler scheduler(system, policy, budget);
        for (bool done = false; !done;) {
            const PlanChunk chunk = scheduler.next(chunk_size);
            check(chunk.first_version == static_cast<std::int32_t>(updates.time.size()), "chunks follow one another");
            append(chunk);
            done = chunk.done;
        }
        ended_by = scheduler.ended_by();
        totals = scheduler.totals();
        end = scheduler.end();
    }

    Job job(std::size_t i) const {
        return {static_cast<std::uint32_t>(jobs.client[i]),
                static_cast<std::uint32_t>(jobs.k[i]),
                jobs.base[i],
                jobs.steps[i],
                jobs.t_dispatch[i],
                jobs.t_start[i],
                jobs.t_finish[i],
                jobs.t_arrive[i],
                jobs.t_lost[i],
                jobs.t_stop[i]};
    }

private:
    template <typename T>
    static void extend(std::vector<T>& to, const std::vector<T>& from) {
        to.insert(to.end(), from.begin(), from.end());
    }

    void append(const PlanChunk& chunk) {
        const auto shift = static_cast<std::int64_t>(jobs.size());
        const std::int64_t entries = updates.offsets.back();
        for (std::int64_t entry : chunk.updates.entries) updates.entries.push_back(entry + shift);
        for (std::size_t u = 1; u < chunk.updates.offsets.size(); ++u) updates.offsets.push_back(entries + chunk.updates.offsets[u]);
        extend(updates.time, chunk.updates.time);
        extend(jobs.client, chunk.jobs.client);
        extend(jobs.k, chunk.jobs.k);
        extend(jobs.base, chunk.jobs.base);
        extend(jobs.steps, chunk.jobs.steps);
        extend(jobs.consumed_by, chunk.jobs.consumed_by);
        extend(jobs.t_dispatch, chunk.jobs.t_dispatch);
        extend(jobs.t_start, chunk.jobs.t_start);
        extend(jobs.t_finish, chunk.jobs.t_finish);
        extend(jobs.t_arrive, chunk.jobs.t_arrive);
        extend(jobs.t_lost, chunk.jobs.t_lost);
        extend(jobs.t_stop, chunk.jobs.t_stop);
    }
};

/// The job (client, k) of a plan.
inline Job find_job(const Plan& plan, std::uint32_t client, std::uint32_t k, std::source_location at = std::source_location::current()) {
    for (std::size_t i = 0; i < plan.jobs.size(); ++i)
        if (plan.job(i).client == client && plan.job(i).k == k) return plan.job(i);
    check(false, "the plan has the job", at);
    return {};
}

struct Entry {
    std::int32_t client, k, staleness;
    bool operator==(const Entry&) const = default;
};

/// Update u happens at `quarters` / 4 seconds and consumes exactly these entries, in this order.
inline void check_update(const Plan& plan, std::size_t u, std::int64_t quarters, const std::vector<Entry>& expected,
                         std::source_location at = std::source_location::current()) {
    const std::string where = "update " + std::to_string(u);
    if (u >= plan.updates.time.size()) return check(false, where + " is missing", at);
    check(plan.updates.time[u] == quarters * kQuarter, where + ": time is " + std::to_string(plan.updates.time[u]), at);
    std::vector<Entry> got;
    for (std::int64_t e = plan.updates.offsets[u]; e < plan.updates.offsets[u + 1]; ++e) {
        const Job job = plan.job(static_cast<std::size_t>(plan.updates.entries[static_cast<std::size_t>(e)]));
        got.push_back({static_cast<std::int32_t>(job.client), static_cast<std::int32_t>(job.k), static_cast<std::int32_t>(u) - job.base});
    }
    check(got == expected, where + ": consumed entries", at);
}

inline SystemModel random_system(std::uint32_t clients, std::uint64_t seed) {
    std::vector<double> mean(clients);
    RandomStream random(seed, Purpose::speed);
    for (double& m : mean) m = 0.5 + 4 * random.uniform();
    return {clients,
            seed,
            Durations("compute", DurationKind::exponential, mean, {}, false, {}),
            Durations("download", DurationKind::uniform, {0.01}, {0.2}, false, {}),
            seconds("upload", {0.05}),
            Steps::normal(20, 9)};
}

inline bool same_plan(const Plan& a, const Plan& b) {
    const JobColumns &x = a.jobs, &y = b.jobs;
    return x.client == y.client && x.k == y.k && x.base == y.base && x.steps == y.steps && x.consumed_by == y.consumed_by &&
           x.t_dispatch == y.t_dispatch && x.t_start == y.t_start && x.t_finish == y.t_finish && x.t_arrive == y.t_arrive &&
           x.t_lost == y.t_lost && x.t_stop == y.t_stop && a.updates.time == b.updates.time && a.updates.offsets == b.updates.offsets &&
           a.updates.entries == b.updates.entries && a.ended_by == b.ended_by && a.end == b.end &&
           a.totals.messages_peak == b.totals.messages_peak && a.totals.open_jobs_peak == b.totals.open_jobs_peak;
}

}  // namespace fedbench::testing
