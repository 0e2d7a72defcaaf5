// All clients work, a periodic poll takes what a few of them have done by then [FAVANO, QuAFL].
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
        slot_.resize(is_polled_.size());
        for (std::uint32_t client = 0; client < slot_.size(); ++client) start(s, client);
        schedule(s);
    }

    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() == Phase::dispatch) return poll(s);
        arrived_.push_back(event.slot());
        if (arrived_.size() < polled_.size()) return;
        s.update(arrived_);
        arrived_.clear();
        if (s.finished()) return;
        for (std::uint32_t client : polled_) {
            is_polled_[client] = 0;
            start(s, client);
        }
        schedule(s);
    }

    /// Jobs that are never polled show what they had done when the plan ended.
    void end(Scheduler& s) override {
        for (std::uint32_t client = 0; client < slot_.size(); ++client)
            if (!is_polled_[client]) count_steps(s, s.job(slot_[client]), s.end());
    }

private:
    void start(Scheduler& s, std::uint32_t client) {
        slot_[client] = s.open(client, s.version(), s.now());
        s.count_downloads(1);
        Job& job = s.job(slot_[client]);
        job.t_start = s.now() + s.system().download.unit(s.system().seed, Purpose::download, client, job.k);
    }

    void schedule(Scheduler& s) {
        const std::int64_t start = s.system().start_ns, elapsed = s.now() - start;
        multiple_ = std::max(multiple_ + 1, elapsed / period_ + (elapsed % period_ != 0));
        s.at(start + multiple_ * period_, Phase::dispatch, 0);
    }

    void poll(Scheduler& s) {
        polled_ = cohort_.draw(s.system().seed, static_cast<std::uint32_t>(s.version()));
        for (std::uint32_t client : polled_) {
            if (is_polled_[client])
                throw std::invalid_argument("poll: selections of poll " + std::to_string(s.version()) + " name client " +
                                            std::to_string(client) + " twice");
            is_polled_[client] = 1;
            count_steps(s, s.job(slot_[client]), s.now());
            s.send(slot_[client], s.now());
        }
    }

    /// Steps that ended at or before `time`; a client stops after max_steps.
    void count_steps(const Scheduler& s, Job& job, std::int64_t time) const {
        const SystemModel& system = s.system();
        const std::int64_t step = system.compute.unit(system.seed, Purpose::compute, job.client, job.k);
        const std::int64_t worked = time - job.t_start;
        if (worked >= 0) job.steps = step == 0 ? max_steps_ : static_cast<std::int32_t>(std::min<std::int64_t>(max_steps_, worked / step));
        job.t_finish = job.steps == max_steps_ ? job.t_start + max_steps_ * step : time;
    }

    std::int64_t period_;
    std::int32_t max_steps_;
    Cohort cohort_;
    std::int64_t multiple_ = 0;          // of the period: the last poll
    std::vector<Scheduler::Slot> slot_;  // by client: its open job
    std::vector<char> is_polled_;        // by client: and not yet started again
    std::vector<std::uint32_t> polled_;
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Poll config, std::uint32_t clients) { return std::make_unique<PollPolicy>(std::move(config), clients); }

}  // namespace fedbench
