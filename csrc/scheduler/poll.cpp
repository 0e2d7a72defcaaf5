// The policy Poll: all clients work, and a periodic poll takes what a few of them have done by then
// [FAVANO, QuAFL].
#include <algorithm>
#include <stdexcept>

#include "cohort.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

class PollPolicy final : public Policy {
public:
    PollPolicy(Poll config, std::uint32_t clients)
        : period_(config.period_ns),
          max_steps_(config.max_steps),
          cohort_("poll", "poll", scripted_or(Select::without_replacement, config.cohort, std::move(config.selections)), clients),
          is_polled_(clients, 0) {
        if (period_ < 1) throw std::invalid_argument("poll: period_seconds must be > 0, got " + std::to_string(period_) + " nanoseconds");
        if (max_steps_ < 1) throw std::invalid_argument("poll: max_steps must be >= 1, got " + std::to_string(max_steps_));
    }

    void begin(Scheduler& s) override {
        if (!s.system().compute.per_step())
            throw std::invalid_argument("poll: compute durations must be per step, got durations of whole jobs");
        if (!s.system().work.is_one_per_step())
            throw std::invalid_argument("poll: a polled client computes one gradient a step and nothing beside, got other work");
        slot_.assign(is_polled_.size(), kNone);
        guarded_until_.assign(is_polled_.size(), kNever);
        if (s.pauses()) began_.resize(is_polled_.size());
        for (std::uint32_t client = 0; client < slot_.size(); ++client) start(s, client);
        schedule(s);
    }

    void on_event(Scheduler& s, const Event& event) override {
        const std::uint32_t client = event.client();
        switch (event.phase()) {
            case Phase::arrival:
                arrived_.push_back(event.slot());
                return leave_poll(s);
            case Phase::lost:
                return is_polled_[client] ? lose_upload(s, event) : lose(s, event);
            case Phase::returned:
                return s.at(s.now(), Phase::dispatch, client, kStart);
            default:
                if (event.slot() != kStart) return poll(s);
                --to_start_;
                return start(s, client);
        }
    }

    /// The polled clients start again from the version that results, for which they wait.
    void updated(Scheduler& s) override {
        for (std::uint32_t client : polled_) {
            if (!is_polled_[client]) continue;  // its upload was lost
            is_polled_[client] = 0;
            slot_[client] = kNone;
            --working_;
            start(s, client);
        }
        schedule(s);
    }

    /// Gives jobs that are never polled the steps that they had done when the plan ended.
    void end(Scheduler& s) override {
        for (std::uint32_t client = 0; client < slot_.size(); ++client)
            if (slot_[client] != kNone && !is_polled_[client]) count_steps(s, s.job(slot_[client]), s.end());
    }

    bool awaits(std::uint32_t client) const override { return client < slot_.size() && slot_[client] == kNone; }

private:
    static constexpr Scheduler::Slot kNone = Event::kMaxSlot;
    static constexpr Scheduler::Slot kLeaving = Event::kMaxSlot;  // of a `lost` event: the client leaves
    static constexpr Scheduler::Slot kStart = 1;                  // of a `dispatch` event: the client starts; 0 is the poll

    void start(Scheduler& s, std::uint32_t client) {
        if (!s.is_here(client)) {
            to_start_ += s.returns(client) != kForever;
            return s.await_return(client);
        }
        ++working_;
        slot_[client] = s.open(client, s.version(), s.now());
        s.count_downloads(1);
        Job& job = s.job(slot_[client]);
        const SystemModel& system = s.system();
        job.t_start = s.later(client, s.now(), system.download.takes(system.seed, Purpose::download, client, job.k, s.now()));
        if (s.pauses()) began_[client] = s.presence().at(client, job.t_start);
        if (s.pauses() || !system.dropout.is_off()) {
            job.t_finish = last_step(s, job);
            s.draw_loss(job, job.t_finish);
        }
        if (job.t_lost != kNever) s.at(job.t_lost, Phase::lost, client, slot_[client]);
        guard(s, client);
    }

    /// Adds one `lost` event for when the client leaves, whichever job it has then.
    void guard(Scheduler& s, std::uint32_t client) {
        const std::int64_t leave = s.leaves(client);
        if (leave == kForever || leave == guarded_until_[client]) return;
        guarded_until_[client] = leave;
        s.at(leave, Phase::lost, client, kLeaving);
    }

    /// Handles the loss of a working client's job, unless it was polled since.
    void lose(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        const Scheduler::Slot slot = slot_[client];
        if (slot == kNone || (event.slot() != kLeaving && (event.slot() != slot || s.job(slot).t_lost != s.now()))) return;
        drop(s, client);
    }

    /// Handles the loss of a polled client's upload, unless that of an earlier job was meant.
    void lose_upload(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        if (event.slot() != slot_[client] || s.job(slot_[client]).t_lost != s.now()) return;
        drop(s, client);
        is_polled_[client] = 0;
        leave_poll(s);
    }

    void drop(Scheduler& s, std::uint32_t client) {
        s.lose(slot_[client]);
        slot_[client] = kNone;
        --working_;
        ++to_start_;
        s.at(s.now(), Phase::dispatch, client, kStart);
    }

    /// Schedules the poll at the next multiple of the period, if anybody works or will.
    void schedule(Scheduler& s) {
        if (working_ + to_start_ == 0) return;
        const std::int64_t start = s.system().start_ns, elapsed = s.now() - start;
        multiple_ = std::max(multiple_ + 1, elapsed / period_ + (elapsed % period_ != 0));
        s.at(start + multiple_ * period_, Phase::dispatch, 0);
    }

    void poll(Scheduler& s) {
        polled_.clear();
        const std::vector<std::uint32_t>& selected = cohort_.draw(s.system().seed, polls_++);
        for (std::uint32_t client : selected) {
            if (is_polled_[client])
                throw std::invalid_argument("poll: selections of poll " + std::to_string(polls_ - 1) + " name client " +
                                            std::to_string(client) + " twice");
            if (slot_[client] == kNone || !s.is_here(client)) continue;
            is_polled_[client] = 1;
            polled_.push_back(client);
        }
        awaited_ = polled_.size();
        for (std::uint32_t client : polled_) {
            count_steps(s, s.job(slot_[client]), s.now());
            s.send(slot_[client], s.now());
        }
        if (polled_.empty()) schedule(s);
    }

    /// Called when the client's result has arrived, or never will.
    void leave_poll(Scheduler& s) {
        if (--awaited_ > 0) return;
        if (arrived_.empty()) return updated(s);
        s.update(arrived_);
        arrived_.clear();
    }

    std::int64_t step(const Scheduler& s, const Job& job) const {
        return s.system().compute.unit(s.system().seed, Purpose::compute, job.client, job.k);
    }

    /// Returns the end of the last of max_steps steps of a job that starts now.
    std::int64_t last_step(const Scheduler& s, const Job& job) const {
        const std::int64_t one = step(s, job);
        return after(job.t_start, max_steps_, one) == kForever ? kForever : s.later(job.client, job.t_start, max_steps_ * one);
    }

    /// Returns start + count * one, or kForever.
    static std::int64_t after(std::int64_t start, std::int64_t count, std::int64_t one) {
        std::int64_t whole = 0, end = 0;
        return __builtin_mul_overflow(count, one, &whole) || __builtin_add_overflow(start, whole, &end) ? kForever : end;
    }

    /// Sets the steps that ended at or before `time`; a client stops after max_steps.
    void count_steps(const Scheduler& s, Job& job, std::int64_t time) const {
        const std::int64_t one = step(s, job);
        const bool paused = s.pauses() && time > job.t_start;
        const std::int64_t worked = paused ? s.presence().online(job.client, began_[job.client], job.t_start, time) : time - job.t_start;
        if (worked >= 0) job.steps = one == 0 ? max_steps_ : static_cast<std::int32_t>(std::min<std::int64_t>(max_steps_, worked / one));
        if (job.steps < max_steps_) job.t_finish = time;
        else if (!paused) job.t_finish = after(job.t_start, max_steps_, one);  // a forged state may start it at any time
        job.t_lost = kNever;
    }

    std::int64_t period_;
    std::int32_t max_steps_;
    Cohort cohort_;
    std::int64_t multiple_ = 0;  // of the period: the last poll
    std::uint32_t polls_ = 0;
    std::vector<Scheduler::Slot> slot_;        // by client: its open job
    std::vector<std::int64_t> guarded_until_;  // by client: when its last `lost` event as a whole comes
    std::vector<Window> began_;                // by client, if work pauses: the stay in which its job began
    std::vector<char> is_polled_;              // by client: whether it was polled and its result is to come
    std::size_t working_ = 0;                  // clients with a job
    std::size_t to_start_ = 0;                 // clients without a job whose return or start is an event under way
    std::vector<std::uint32_t> polled_;
    std::size_t awaited_ = 0;  // of polled_: results to come
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Poll config, std::uint32_t clients) { return std::make_unique<PollPolicy>(std::move(config), clients); }

}  // namespace fedbench
