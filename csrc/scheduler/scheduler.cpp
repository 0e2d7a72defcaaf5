#include "fedbench/scheduler.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace fedbench {

void JobColumns::append(const Job& job, std::int32_t update) {
    client.push_back(static_cast<std::int32_t>(job.client));
    k.push_back(static_cast<std::int32_t>(job.k));
    base.push_back(job.base);
    steps.push_back(job.steps);
    consumed_by.push_back(update);
    t_dispatch.push_back(job.t_dispatch);
    t_start.push_back(job.t_start);
    t_finish.push_back(job.t_finish);
    t_arrive.push_back(job.t_arrive);
    t_lost.push_back(job.t_lost);
    t_stop.push_back(job.t_stop);
}

std::int32_t Policy::oldest_startable(const Scheduler& scheduler) const { return scheduler.version(); }

std::vector<std::int32_t> Policy::missing(const Scheduler& scheduler) const {
    std::vector<std::int32_t> clients;
    for (std::uint32_t client = 0; client < scheduler.system().clients; ++client)
        if (awaits(client)) clients.push_back(static_cast<std::int32_t>(client));
    return clients;
}

void Policy::select(Scheduler&, const std::vector<std::uint32_t>&) { throw std::logic_error("this policy selects its clients itself"); }

namespace {

SystemModel& checked(SystemModel& system, const Budget& budget) {
    if (system.clients == 0 || system.clients > 0x7fffffff)
        throw std::invalid_argument("clients: must be between 1 and 2147483647, got " + std::to_string(system.clients));
    if (budget.updates < 1) throw std::invalid_argument("budget.updates: must be >= 1, got " + std::to_string(budget.updates));
    if (budget.jobs < 1) throw std::invalid_argument("budget.jobs: must be >= 1, got " + std::to_string(budget.jobs));
    if (system.start_ns < 0)
        throw std::invalid_argument("start_seconds: must be >= 0, got " +
                                    number(static_cast<double>(system.start_ns) / kNanosecondsPerSecond));
    if (system.server_ns < 0)
        throw std::invalid_argument("server_seconds: must be >= 0, got " +
                                    number(static_cast<double>(system.server_ns) / kNanosecondsPerSecond));
    if (budget.time_ns < 0) throw std::invalid_argument("budget.seconds: must be >= 0");
    const auto check = [&](const auto&... parts) { (parts.check_clients(system.clients), ...); };
    check(system.compute, system.download, system.upload, system.steps, system.availability, system.dropout, system.work);
    return system;
}

}  // namespace

Scheduler::Scheduler(SystemModel system, PolicyConfig policy, Budget budget)
    : system_(std::move(system)),
      budget_(budget),
      presence_(std::move(checked(system_, budget).availability), system_.seed, system_.clients),
      pauses_(!is_everybody_here() && system_.when_offline == WhenOffline::paused),
      is_fallible_(!is_everybody_here() || !system_.dropout.is_off()),
      now_(system_.start_ns) {
    policy_ = std::visit([&](auto& config) { return make_policy(std::move(config), system_.clients); }, policy);
    next_k_.assign(system_.clients, 0);
    if (pauses_ && (system_.download.is_traced() || system_.upload.is_traced()))
        throw std::invalid_argument(
            "availability: when_offline must be lost with measured links, whose throughput changes while a client "
            "is away, got paused");
}

PlanChunk Scheduler::next(std::int32_t max_updates) {
    const auto call = enter("next");
    if (max_updates < 1) throw std::invalid_argument("max_updates: must be >= 1, got " + std::to_string(max_updates));
    if (is_asking_) throw std::invalid_argument("next: a round waits for its clients; answer with select()");
    chunk_ = PlanChunk{};
    chunk_.first_version = version_;
    if (!begun_) {
        begun_ = true;
        if (now_ > budget_.time_ns) finish(Outcome::finished, "time");
        else policy_->begin(*this);
    }
    while (!finished() && !is_asking_ && version_ - chunk_.first_version < max_updates) {
        EventQueue* const events = earliest();
        if (events == nullptr) finish(Outcome::stalled, "stalled");
        else if (events->top().time > budget_.time_ns) finish(Outcome::finished, "time");
        else if (totals_.jobs_created >= budget_.jobs) finish(Outcome::finished, "jobs");
        else if (begun_since_update() > kMostBetween + 2 * std::int64_t{system_.clients}) refuse_no_update();
        else {
            const Event event = events->pop();
            now_ = event.time;
            if (event.phase() == Phase::updated) make_next();
            else policy_->on_event(*this, event);
        }
    }
    if (finished()) {
        policy_->end(*this);
        close_the_open();
    }
    chunk_.live_bases = live_bases();
    chunk_.done = finished();
    return std::move(chunk_);
}

std::vector<std::int32_t> Scheduler::available() const {
    std::vector<std::int32_t> clients;
    for (std::uint32_t client = 0; client < system_.clients; ++client)
        if (returns(client) == now_) clients.push_back(static_cast<std::int32_t>(client));
    return clients;
}

void Scheduler::select(const std::vector<std::int32_t>& clients) {
    const auto call = enter("select");
    if (!is_asking_) throw std::invalid_argument("select: nothing is asked; a selection answers a round of external selection");
    if (clients.empty()) throw std::invalid_argument("select: expected at least one client, got none");
    for (std::int32_t client : clients)
        if (client < 0 || static_cast<std::uint32_t>(client) >= system_.clients)
            throw std::invalid_argument("select: there are " + std::to_string(system_.clients) + " clients, got client " +
                                        std::to_string(client));
    policy_->select(*this, {clients.begin(), clients.end()});
    is_asking_ = false;
}

/// Returns the queue that holds the next event; nullptr if there is none.
EventQueue* Scheduler::earliest() {
    while (stopped_ > 0 && !queue_.empty() && is_of_stopped(queue_.top())) release(queue_.pop().slot());
    if (instant_.empty()) return queue_.empty() ? nullptr : &queue_;
    return queue_.empty() || instant_.top() < queue_.top() ? &instant_ : &queue_;
}

void Scheduler::finish(Outcome outcome, const char* reason) {
    outcome_ = outcome;
    ended_by_ = reason;
}

Scheduler::Slot Scheduler::open(std::uint32_t client, std::int32_t base, std::int64_t t_dispatch) {
    Slot slot;
    if (free_slots_.empty()) {
        slot = static_cast<Slot>(open_jobs_.size());
        if (slot >= kSlots) throw std::length_error("more than " + std::to_string(kSlots) + " jobs are open at one time");
        open_jobs_.emplace_back();
        emitted_.push_back(kNotEmitted);
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
    }
    Job& job = open_jobs_[slot] = Job{};
    job.client = client;
    job.k = next_k_[client]++;
    job.base = base;
    job.t_dispatch = t_dispatch;
    if (open_on_.size() <= static_cast<std::size_t>(base)) open_on_.resize(static_cast<std::size_t>(base) + 1, 0);
    if (open_on_[static_cast<std::size_t>(base)]++ == 0) ++versions_open_;
    ++totals_.jobs_created;
    totals_.open_jobs_peak = std::max(totals_.open_jobs_peak, static_cast<std::int64_t>(open_jobs_.size() - free_slots_.size() - stopped_));
    return slot;
}

void Scheduler::run(Slot slot, std::int64_t start) {
    Job& job = open_jobs_[slot];
    job.steps = system_.steps.of(system_.seed, job.client, job.k);
    job.t_start = start;
    const std::int64_t gradients = system_.work.of(job.client, job.steps);
    job.t_finish = later(job.client, start, system_.compute.job(system_.seed, Purpose::compute, job.client, job.k, job.steps, gradients));
    if (is_fallible_) draw_loss(job, job.t_finish);
}

void Scheduler::send(Slot slot, std::int64_t from) {
    Job& job = open_jobs_[slot];
    job.t_arrive = later(job.client, from, system_.upload.takes(system_.seed, Purpose::upload, job.client, job.k, from));
    if (!is_lost_before(slot, job.t_arrive)) at(job.t_arrive, Phase::arrival, job.client, slot);
}

Scheduler::Slot Scheduler::dispatch(std::uint32_t client, std::int64_t free_from) {
    const Slot slot = open(client, version_, now_);
    count_downloads(1);
    const std::int64_t download = system_.download.takes(system_.seed, Purpose::download, client, open_jobs_[slot].k, now_);
    run(slot, std::max(free_from, later(client, now_, download)));
    return send_at_end(slot);
}

Scheduler::Slot Scheduler::resume(std::uint32_t client, std::int32_t held) {
    const Slot slot = open(client, held, now_);
    chunk_.resumed.push_back(now_);
    run(slot, now_);
    return send_at_end(slot);
}

Scheduler::Slot Scheduler::send_at_end(Slot slot) {
    send(slot, open_jobs_[slot].t_finish);
    if (open_jobs_[slot].t_arrive == now_ || open_jobs_[slot].t_lost == now_) refuse_standstill(slot);
    return slot;
}

void Scheduler::draw_loss(Job& job, std::int64_t finish) const {
    if (system_.dropout.is_off() || finish == kForever) return;
    const auto lost = system_.dropout.draw(system_.seed, job.client, job.k, finish - job.t_start);
    if (lost) job.t_lost = job.t_start + *lost;
}

bool Scheduler::loses(Slot slot, std::int64_t end) {
    Job& job = open_jobs_[slot];
    const std::int64_t absence = leaves(job.client);
    if (absence < end && (job.t_lost == kNever || absence < job.t_lost)) job.t_lost = absence;
    if (job.t_lost == kNever) return false;
    job.forget_after(job.t_lost);
    at(job.t_lost, Phase::lost, job.client, slot);
    return true;
}

void Scheduler::end_now(Slot slot, std::int64_t Job::*when) {
    open_jobs_[slot].forget_after(now_);
    open_jobs_[slot].*when = now_;
}

void Scheduler::call_off(Slot slot) {
    end_now(slot, &Job::t_stop);
    discard(slot);
}

/// The slot is reused only after the event that names it has left the queue.
void Scheduler::stop(Slot slot) {
    end_now(slot, &Job::t_stop);
    record(slot, kNotConsumed);
    emitted_[slot] = kStopped;
    ++stopped_;
    if (stopped_ > queue_.size() / 2) forget_stopped();
}

bool Scheduler::is_of_stopped(const Event& event) const {
    return (event.phase() == Phase::arrival || event.phase() == Phase::lost) && emitted_[event.slot()] == kStopped;
}

void Scheduler::release(Slot slot) {
    emitted_[slot] = kNotEmitted;
    free_slots_.push_back(slot);
    --stopped_;
}

/// Removes the events of stopped jobs, which are never in the majority for long. So the size of the
/// queue stays in proportion to what is under way.
void Scheduler::forget_stopped() {
    if (stopped_ == 0) return;
    std::vector<Slot> gone;
    queue_.erase_if([&](const Event& event) {
        if (!is_of_stopped(event)) return false;
        gone.push_back(event.slot());
        return true;
    });
    std::sort(gone.begin(), gone.end());
    for (Slot slot : gone) release(slot);
}

void Scheduler::lose(Slot slot) {
    end_now(slot, &Job::t_lost);
    discard(slot);
}

std::int64_t Scheduler::leaves(std::uint32_t client) const {
    if (!pauses_) return presence_.leaves(client, now_);
    return std::max(now_, presence_.availability().last_leave(client));
}

void Scheduler::await_return(std::uint32_t client) {
    const std::int64_t time = returns(client);
    if (time != kForever) at(time, Phase::returned, client);
}

void Scheduler::refuse_standstill(Slot slot) const {
    const Job& job = open_jobs_[slot];
    throw std::invalid_argument("zero cycle time: job " + std::to_string(job.k) + " of client " + std::to_string(job.client) +
                                " takes no time at all, so virtual time would stand still; give compute or network a duration > 0");
}

/// All jobs since the last update are in memory, so there has to be another one some day.
void Scheduler::refuse_no_update() const {
    throw std::invalid_argument("no update up to " + number(static_cast<double>(now_) / kNanosecondsPerSecond) +
                                " virtual seconds, though " + std::to_string(begun_since_update()) +
                                " jobs began since the last one; give rounds a longer deadline, clients more time before they leave, "
                                "or updates fewer arrivals");
}

void Scheduler::close(Slot slot, std::int32_t update) {
    record(slot, update);
    free_slots_.push_back(slot);
}

void Scheduler::record(Slot slot, std::int32_t update) {
    if (emitted_[slot] == kNotEmitted) chunk_.jobs.append(open_jobs_[slot], update);
    emitted_[slot] = kNotEmitted;
    if (--open_on_[static_cast<std::size_t>(open_jobs_[slot].base)] == 0) --versions_open_;
}

}  // namespace fedbench
