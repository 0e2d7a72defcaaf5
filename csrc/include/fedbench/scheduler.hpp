// Phase one of a run: plays the virtual clock and writes down all jobs and server updates. It needs
// no model values.
//
// The plan is a pure function of the arguments, bit for bit, on every machine, however it is cut
// into chunks. A scheduler serves one caller at a time, and refuses others; different schedulers
// are independent.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "fedbench/availability.hpp"
#include "fedbench/detail/event_queue.hpp"
#include "fedbench/detail/one_caller.hpp"
#include "fedbench/dropout.hpp"
#include "fedbench/durations.hpp"
#include "fedbench/plan.hpp"
#include "fedbench/policies.hpp"
#include "fedbench/transfer.hpp"

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
    Durations compute;
    Transfer download, upload;
    Steps steps;
    std::int64_t start_ns = 0;  ///< the first dispatch; time before it is the algorithm's prelude
    Availability availability = {};
    WhenOffline when_offline = WhenOffline::lost;
    Dropout dropout = {};
    GradientWork work = {};
    std::int64_t server_ns = 0;  ///< what the server computes for an update takes so long
};

class Scheduler {
public:
    /// Throws std::invalid_argument for arguments out of range and for configurations that provably
    /// never update.
    Scheduler(SystemModel system, PolicyConfig policy, Budget budget);

    /// Guards against a second caller. next and select call it themselves; other functions do not
    /// check. Throws std::logic_error while a call is under way.
    OneCaller::Call enter(const char* call) const { return caller_.enter(call); }

    /// Plans up to max_updates (>= 1) further updates. O(log pending) per event; memory grows with
    /// the open jobs and the chunk only. Returns early where a policy asks for a selection. Throws
    /// std::invalid_argument while one is awaited.
    PlanChunk next(std::int32_t max_updates);

    /// Whether a round waits for select() (Select::external).
    bool is_asking() const { return is_asking_; }
    /// Returns the clients that are there now, ascending. O(clients).
    std::vector<std::int32_t> available() const;
    /// Gives the clients of the round that is asked for, with multiplicity; those that are away are
    /// dropped. Throws std::invalid_argument, and goes on asking, if nothing is asked, or the
    /// selection is empty or names a client that does not exist.
    void select(const std::vector<std::int32_t>& clients);

    Outcome outcome() const { return outcome_; }
    /// Why the plan ended: "updates", "time", "jobs", "stalled", or "" while running.
    const std::string& ended_by() const { return ended_by_; }
    /// The clients that the next update waits for, which `stalled` reports.
    std::vector<std::int32_t> missing() const { return policy_->missing(*this); }
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
    /// Opens a new job of `client` that starts from `base`; its k is the client's next.
    Slot open(std::uint32_t client, std::int32_t base, std::int64_t t_dispatch);
    /// Fixes steps, start and finish of an open job.
    void run(Slot slot, std::int64_t start);
    /// Sends the newest model to one client, which is there now: download, run, upload and the
    /// event that ends the job. The run does not start before `free_from`.
    Slot dispatch(std::uint32_t client, std::int64_t free_from = 0);
    /// Like dispatch, from a version that the client holds: nothing is sent to it, and the run
    /// starts now.
    Slot resume(std::uint32_t client, std::int32_t held);
    /// Starts the upload at `from` (>= now): adds the event of the arrival, or of the loss.
    void send(Slot slot, std::int64_t from);
    /// Returns whether the job is lost before `end`. If so, sets its times and adds the `lost`
    /// event.
    bool is_lost_before(Slot slot, std::int64_t end) { return is_fallible_ && loses(slot, end); }
    /// Draws the drop-out of a job that would run until `finish`.
    void draw_loss(Job& job, std::int64_t finish) const;
    /// Closes a job that will never be consumed.
    void discard(Slot slot) { close(slot, kNotConsumed); }
    /// Closes a job that the server does not want any more; what has not happened by now never
    /// does.
    void call_off(Slot slot);
    /// Like call_off, for a job whose arrival or loss lies ahead: that event never happens.
    void stop(Slot slot);
    /// Closes a job that is lost now; what has not happened never does.
    void lose(Slot slot);

    // ---- availability ----
    /// Whether everybody is always there.
    bool is_everybody_here() const { return presence_.availability().is_always(); }
    /// Whether a job may be lost or paused.
    bool loses_jobs() const { return is_fallible_; }
    bool is_here(std::uint32_t client) { return is_everybody_here() || presence_.is_on(client, now_); }
    const Presence& presence() const { return presence_; }
    /// Whether downloads, computing and uploads rest while their client is away.
    bool pauses() const { return pauses_; }
    /// Returns when `client` is there again, `now` if it is there, or kForever for never.
    std::int64_t returns(std::uint32_t client) const { return presence_.next_on(client, now_); }
    /// Adds a `returned` event for when the absent client is there again, if it ever is.
    void await_return(std::uint32_t client);
    /// Returns when the client's absence loses its work: when it leaves or, if work pauses, when it
    /// leaves for good. It is `now` if the client is away already.
    std::int64_t leaves(std::uint32_t client) const;
    /// Returns when work of `client` that begins at `from` is done.
    std::int64_t later(std::uint32_t client, std::int64_t from, std::int64_t duration) const {
        return pauses_ ? presence_.finish(client, from, duration) : from + duration;
    }

    /// Prefetches the memory of a client that will soon be dispatched.
    void prefetch(std::uint32_t client) const {
        __builtin_prefetch(next_k_.data() + client, 1);
        system_.compute.prefetch(client);
        presence_.prefetch(client);
    }
    Job& job(Slot slot) { return open_jobs_[slot]; }
    const Job& job(Slot slot) const { return open_jobs_[slot]; }
    /// Throws std::invalid_argument, since the client would start and arrive for ever in one
    /// instant.
    [[noreturn]] void refuse_standstill(Slot slot) const;
    /// Makes a server update, which consumes `slots` (with multiplicity, in arrival order), and
    /// then calls Policy::updated.
    ///
    /// Where the server's work takes time, the update waits until those before it are done, and is
    /// made when its own work is done: the version does not exist before. So the slots stay open,
    /// and the policy must not close them.
    void update(const std::vector<Slot>& slots);
    /// Returns the version that will consume what arrives now: that of now, and all that are being
    /// made.
    std::int32_t consuming_version() const { return version_ + static_cast<std::int32_t>(in_work_.size()); }
    void count_downloads(std::int64_t models) { totals_.downloads += models; }
    /// Asks for the selection of the next round: next() returns, and select() answers.
    void ask() { is_asking_ = true; }
    bool finished() const { return outcome_ != Outcome::running; }
    /// Drops all pending events, for a policy that begins anew.
    void forget_events() {
        queue_.clear();
        instant_.clear();
    }

private:
    static constexpr std::int64_t kNotEmitted = -1;
    static constexpr std::int64_t kStopped = -2;
    static constexpr std::int64_t kMostBetween = std::int64_t{1} << 20;
    static constexpr std::size_t kSlots = Event::kMaxSlot;  // the highest one is free for policies

    EventQueue* earliest();
    void make_next();
    void make(const std::vector<Slot>& slots);
    void finish(Outcome outcome, const char* reason);
    bool loses(Slot slot, std::int64_t end);
    Slot send_at_end(Slot slot);
    void end_now(Slot slot, std::int64_t Job::*when);
    void close(Slot slot, std::int32_t update);
    void record(Slot slot, std::int32_t update);
    std::int64_t begun_since_update() const { return totals_.jobs_created - begun_at_update_; }
    [[noreturn]] void refuse_no_update() const;
    void release(Slot slot);
    bool is_of_stopped(const Event& event) const;
    void forget_stopped();
    void close_the_open();
    void note_messages();
    std::vector<std::int32_t> live_bases() const;
    /// Returns for every slot whether its job is open.
    std::vector<char> open_slots() const;

    SystemModel system_;  // without its availability: that is in presence_
    Budget budget_;
    Presence presence_;
    bool pauses_;
    bool is_fallible_;  // may a job be lost or paused?
    std::unique_ptr<Policy> policy_;
    EventQueue queue_;    // the future
    EventQueue instant_;  // events created for the instant they were created in: few, so they stay out of the large heap
    std::int64_t now_ = 0;
    std::int32_t version_ = 0;
    Outcome outcome_ = Outcome::running;
    std::string ended_by_;
    bool begun_ = false;
    bool is_asking_ = false;

    std::vector<Job> open_jobs_;         // by slot; a freed slot is reused
    std::vector<std::int64_t> emitted_;  // by slot: index in the chunk once consumed in the current update, or kStopped
    std::vector<Slot> free_slots_;
    std::int64_t begun_at_update_ = 0;       // jobs begun up to the last update
    std::size_t stopped_ = 0;                // slots of stopped jobs; not free, since their events are still in the queue
    std::vector<std::uint32_t> next_k_;      // by client
    std::vector<std::uint32_t> open_on_;     // by version: open jobs that start from it
    std::int64_t versions_open_ = 0;         // versions with at least one open job
    std::deque<std::vector<Slot>> in_work_;  // updates that the server works on, or will: what they consume
    std::int64_t server_free_ = 0;           // when the last of them is done
    PlanTotals totals_;
    PlanChunk chunk_;
    OneCaller caller_;
};

}  // namespace fedbench
