// A scheduler as bytes: header (what this is, for which configuration, and a checksum), then every member.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <variant>

#include "fedbench/archive.hpp"
#include "fedbench/scheduler.hpp"
#include "restored.hpp"

namespace fedbench {

namespace {

/// 40 bytes in front of the state. Integers are in the machine's order, which the magic number tells too.
struct Header {
    std::uint64_t magic = 0x4E414C5042444546;  // "FEDBPLAN" on a little-endian machine
    std::uint64_t format = 1;                  // changes whenever a member of any archive does
    std::uint64_t configuration = 0;
    std::uint64_t size = 0;
    std::uint64_t checksum = 0;
};

std::uint64_t checksum(std::span<const char> bytes) {
    Fingerprint sum;
    sum.raw(bytes.data(), bytes.size());
    return sum.value();
}

[[noreturn]] void refuse(const std::string& reason) { throw std::invalid_argument("restore: " + reason); }

/// The header, if what follows is a state for this configuration.
void check(std::span<const char> bytes, std::uint64_t configuration) {
    Header header;
    const Header expected;
    if (bytes.size() < sizeof(Header)) refuse("expected a saved scheduler, got " + std::to_string(bytes.size()) + " bytes");
    std::memcpy(&header, bytes.data(), sizeof(Header));
    if (header.magic != expected.magic) refuse("these bytes are no saved scheduler of this kind of machine");
    if (header.format != expected.format)
        refuse("the state has format " + std::to_string(header.format) + ", expected " + std::to_string(expected.format));
    if (header.size != bytes.size() - sizeof(Header))
        refuse("expected " + std::to_string(header.size) + " bytes of state, got " + std::to_string(bytes.size() - sizeof(Header)));
    if (header.checksum != checksum(bytes.subspan(sizeof(Header)))) refuse("the state was changed since it was saved (checksum)");
    if (header.configuration != configuration) refuse("the state is of a scheduler with other arguments");
}

}  // namespace

std::uint64_t fingerprint(PolicyConfig& policy) {
    Fingerprint sum;
    std::uint64_t kind = policy.index();
    sum(kind);
    std::visit([&](auto& config) { sum(config); }, policy);
    return sum.value();
}

std::uint64_t Scheduler::configuration() {
    Fingerprint sum;
    sum(policy_configuration_, system_, budget_);
    presence_.archive_configuration(sum);
    return sum.value();
}

std::string Scheduler::save() {
    const auto call = enter("save");
    const std::string state = saved();
    Header header;
    header.configuration = configuration();
    header.size = state.size();
    header.checksum = checksum(state);
    return std::string(reinterpret_cast<const char*>(&header), sizeof(Header)) + state;
}

std::string Scheduler::saved() {
    forget_stopped();
    Writer writer;
    writer(*this);
    policy_->save(writer);
    return std::move(writer.bytes);
}

void Scheduler::restore(std::span<const char> bytes) {
    const auto call = enter("restore");
    check(bytes, configuration());
    const std::string before = saved();
    try {
        read(bytes.subspan(sizeof(Header)));
        check_progress();
        check_jobs();
        const Restored restored(*this);
        policy_->check(restored);
        check_events(restored);
    } catch (...) {
        read(before);
        throw;
    }
}

void Scheduler::read(std::span<const char> state) {
    Reader reader(state);
    reader(*this);
    policy_->restore(reader);
    if (!reader.at_end()) refuse("bytes are left over");
}

void Scheduler::check_progress() const {
    const bool is_in_time = now_ == system_.start_ns || (now_ > system_.start_ns && now_ <= budget_.time_ns);
    require_restored(is_in_time, "the time");
    require_restored(version_ >= 0 && version_ <= budget_.updates && (finished() || version_ < budget_.updates), "the version");
    const std::string& why = ended_by_;
    const bool ends = outcome_ == Outcome::running    ? why.empty()
                      : outcome_ == Outcome::finished ? why == "updates" || why == "time" || why == "jobs"
                                                      : outcome_ == Outcome::stalled && why == "stalled";
    require_restored(ends && !(finished() && is_asking_), "the outcome");
    require_restored(begun_ || (version_ == 0 && open_jobs_.empty() && queue_.empty() && instant_.empty()), "the beginning");
    for (std::int64_t total : {totals_.jobs_created, totals_.downloads, totals_.messages_peak, totals_.open_jobs_peak})
        require_restored(total >= 0 && total <= kForever / 2, "a total");
    require_restored(presence_.is_sound(system_.clients), "who is there");
}

void Scheduler::check_jobs() const {
    require_restored(open_jobs_.size() <= kSlots && emitted_.size() == open_jobs_.size(), "the jobs");
    require_restored(std::all_of(emitted_.begin(), emitted_.end(), [](std::int64_t index) { return index == kNotEmitted; }), "the jobs");
    require_restored(next_k_.size() == system_.clients, "the counters of jobs");
    std::vector<char> is_free(open_jobs_.size(), 0);
    for (Slot slot : free_slots_) require_restored(slot < is_free.size() && is_free[slot]++ == 0, "a free place");
    require_restored(open_on_.size() <= static_cast<std::size_t>(version_) + 1, "the versions");
    std::vector<std::uint32_t> open_on(open_on_.size(), 0);
    std::int64_t versions_open = 0;
    for (Slot slot = 0; slot < open_jobs_.size(); ++slot) {
        const Job& job = open_jobs_[slot];
        require_restored(job.client < system_.clients && job.base >= 0 && static_cast<std::size_t>(job.base) < open_on.size(), "a job");
        for (std::int64_t time : {job.t_dispatch, job.t_start, job.t_finish, job.t_arrive, job.t_lost, job.t_stop})
            require_restored(time >= kNever, "a job's time");
        if (!is_free[slot] && open_on[static_cast<std::size_t>(job.base)]++ == 0) ++versions_open;
    }
    require_restored(open_on == open_on_ && versions_open == versions_open_, "the versions");
}

void Scheduler::check_events(const Restored& restored) const {
    for (const EventQueue* queue : {&queue_, &instant_}) {
        require_restored(queue->is_sound(), "the queue");
        for (const Event& event : queue->events()) {
            const bool is_in_time = queue == &queue_ ? event.time >= now_ : event.time == now_;
            require_restored(is_in_time && event.phase() <= Phase::dispatch && event.client() < system_.clients &&
                                 (finished() || policy_->expects(restored, event)),
                             "an event");
        }
    }
}

}  // namespace fedbench
