// Looks at all open jobs of a scheduler: which versions they still need, and how they are closed at
// the end of the plan.
#include <algorithm>

#include "fedbench/scheduler.hpp"

namespace fedbench {

std::vector<char> Scheduler::open_slots() const {
    std::vector<char> is_open(open_jobs_.size(), 1);
    for (Slot slot : free_slots_) is_open[slot] = 0;
    for (Slot slot = 0; stopped_ > 0 && slot < is_open.size(); ++slot)
        if (emitted_[slot] == kStopped) is_open[slot] = 0;
    return is_open;
}

void Scheduler::close_the_open() {
    note_messages();
    const std::vector<char> is_open = open_slots();
    std::vector<Slot> rest;
    for (Slot slot = 0; slot < open_jobs_.size(); ++slot)
        if (is_open[slot]) rest.push_back(slot);
    std::sort(rest.begin(), rest.end(), [&](Slot a, Slot b) {  // slots depend on nothing but the plan; this order is easier to state
        const Job &x = open_jobs_[a], &y = open_jobs_[b];
        return x.client != y.client ? x.client < y.client : x.k < y.k;
    });
    for (Slot slot : rest) close(slot, kNotConsumed);
}

void Scheduler::note_messages() {
    std::int64_t kept = versions_open_;
    const auto has_no_job = [&](std::int32_t v) {
        return static_cast<std::size_t>(v) >= open_on_.size() || open_on_[static_cast<std::size_t>(v)] == 0;
    };
    for (std::int32_t v : policy_->held(*this)) kept += has_no_job(v);
    for (std::int32_t v = policy_->oldest_startable(*this); v <= version_; ++v) kept += has_no_job(v);
    totals_.messages_peak = std::max(totals_.messages_peak, kept);
}

std::vector<std::int32_t> Scheduler::live_bases() const {
    std::vector<std::int32_t> live;
    if (finished()) return live;
    const std::int32_t startable = policy_->oldest_startable(*this);
    const std::vector<char> is_open = open_slots();
    for (Slot slot = 0; slot < open_jobs_.size(); ++slot)
        if (is_open[slot] && open_jobs_[slot].base < startable) live.push_back(open_jobs_[slot].base);
    for (std::int32_t v : policy_->held(*this)) live.push_back(v);
    std::sort(live.begin(), live.end());
    live.erase(std::unique(live.begin(), live.end()), live.end());
    for (std::int32_t v = startable; v <= version_; ++v) live.push_back(v);
    return live;
}

}  // namespace fedbench
