// Phase one of a run: play the virtual clock and write down all jobs and server updates. Needs no model values.
//
// The plan is a pure function of the arguments, bit for bit, on every machine, however it is cut into chunks.
// Not thread-safe; different schedulers are independent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fedbench/durations.hpp"
#include "fedbench/event_queue.hpp"
#include "fedbench/plan.hpp"
#include "fedbench/policies.hpp"

namespace fedbench {

/// When a plan ends. Updates and time are both always bounded.
struct Budget {
    std::int32_t updates = 1;
    std::int64_t time_ns = 0;  ///< events later than this do not happen
    std::int64_t jobs = 0;     ///< cap on created jobs
};

struct SystemModel {
    std::uint32_t clients = 0;
    std::uint64_t seed = 0;
    Durations compute, download, upload;
    Steps steps;
    std::int64_t start_ns = 0;  ///< the first dispatch; time before it is the algorithm's prelude
};

class Scheduler {
public:
    /// Throws std::invalid_argument for arguments out of range and for configurations that provably never update.
    Scheduler(SystemModel system, PolicyConfig policy, Budget budget);

    /// Plans up to max_updates (>= 1) further updates. O(log pending) per event; memory grows with the open jobs and the chunk only.
    PlanChunk next(std::int32_t max_updates);

    Outcome outcome() const { return outcome_; }
    /// Why the plan ended: "updates", "time", "jobs", "stalled", or "" while running.
    const std::string& ended_by() const { return ended_by_; }
    std::vector<std::int32_t> missing() const { return policy_->missing(); }
    const PlanTotals& totals() const { return totals_; }
    std::int64_t now() const { return now_; }
    std::int32_t version() const { return version_; }
    /// The plan covers [0, end]: the time budget, or the last event.
    std::int64_t end() const { return ended_by_ == "time" ? budget_.time_ns : now_; }
    const SystemModel& system() const { return system_; }

    // ---- verbs of the policies ----
    using Slot = std::uint32_t;

    void at(std::int64_t time, Phase phase, std::uint32_t client, Slot slot = 0) {
        (time == now_ ? instant_ : queue_).push(Event(time, phase, client, slot));
    }
    /// A new job of `client` that starts from `base`; its k is the client's next.
    Slot open(std::uint32_t client, std::int32_t base, std::int64_t t_dispatch);
    /// Fixes steps, start and finish of an open job.
    void run(Slot slot, std::int64_t start);
    /// Newest model to one client now: download, run, upload and the arrival event in one go.
    Slot dispatch(std::uint32_t client);
    /// The upload begins at `from` (>= now): arrival event.
    void send(Slot slot, std::int64_t from);
    /// The job will never be consumed.
    void discard(Slot slot) { close(slot, kNotConsumed); }
    /// A hint: this client will soon be dispatched.
    void prefetch(std::uint32_t client) const {
        __builtin_prefetch(next_k_.data() + client, 1);
        system_.compute.prefetch(client);
    }
    Job& job(Slot slot) { return open_jobs_[slot]; }
    const Job& job(Slot slot) const { return open_jobs_[slot]; }
    /// Throws std::invalid_argument: the client would start and arrive for ever in one instant.
    [[noreturn]] void refuse_standstill(Slot slot) const;
    /// One server update now that consumes `slots` (with multiplicity, arrival order).
    void update(const std::vector<Slot>& slots);
    void count_downloads(std::int64_t models) { totals_.downloads += models; }
    bool finished() const { return outcome_ != Outcome::running; }

private:
    EventQueue* earliest();
    void finish(Outcome outcome, const char* reason);
    void close(Slot slot, std::int32_t update);
    void close_the_open();
    void note_messages();
    std::vector<std::int32_t> live_bases() const;

    SystemModel system_;
    Budget budget_;
    std::unique_ptr<Policy> policy_;
    EventQueue queue_;    // the future
    EventQueue instant_;  // events created for the instant they were created in: few, so they stay out of the large heap
    std::int64_t now_ = 0;
    std::int32_t version_ = 0;
    Outcome outcome_ = Outcome::running;
    std::string ended_by_;
    bool begun_ = false;

    std::vector<Job> open_jobs_;         // by slot; a freed slot is reused
    std::vector<std::int64_t> emitted_;  // by slot: index in the chunk once consumed in the current update
    std::vector<Slot> free_slots_;
    std::vector<std::uint32_t> next_k_;   // by client
    std::vector<std::uint32_t> open_on_;  // by version: open jobs that start from it
    std::int64_t versions_open_ = 0;      // versions with at least one open job
    PlanTotals totals_;
    PlanChunk chunk_;
};

}  // namespace fedbench
