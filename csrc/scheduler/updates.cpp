// The server: makes updates of what has arrived, at once or after the time that its work takes.
#include <algorithm>
#include <utility>

#include "fedbench/scheduler.hpp"

namespace fedbench {

void Scheduler::update(const std::vector<Slot>& slots) {
    if (system_.server_ns == 0) return make(slots);
    const std::int64_t begin = std::max(now_, server_free_);
    server_free_ = begin > kForever - system_.server_ns ? kForever : begin + system_.server_ns;
    in_work_.push_back(slots);
    at(server_free_, Phase::updated, 0);
}

void Scheduler::make_next() {
    const std::vector<Slot> slots = std::move(in_work_.front());
    in_work_.pop_front();
    make(slots);
}

void Scheduler::make(const std::vector<Slot>& slots) {
    note_messages();
    begun_at_update_ = totals_.jobs_created;
    for (Slot slot : slots) {
        if (emitted_[slot] == kNotEmitted) {
            emitted_[slot] = static_cast<std::int64_t>(chunk_.jobs.size());
            chunk_.jobs.append(open_jobs_[slot], version_);
        }
        chunk_.updates.entries.push_back(emitted_[slot]);
    }
    for (Slot slot : slots)
        if (emitted_[slot] != kNotEmitted) close(slot, version_);
    chunk_.updates.time.push_back(now_);
    chunk_.updates.offsets.push_back(static_cast<std::int64_t>(chunk_.updates.entries.size()));
    if (++version_ == budget_.updates) finish(Outcome::finished, "updates");
    else policy_->updated(*this);
}

}  // namespace fedbench
