#include "fedbench/traces.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace fedbench {

namespace {

constexpr std::int64_t kLongest = static_cast<std::int64_t>(kLongestSeconds) * kNanosecondsPerSecond;

/// Throws unless low <= value <= high.
void require_between(std::int64_t value, std::int64_t low, std::int64_t high, const std::string& what) {
    if (value < low || value > high)
        throw std::invalid_argument(what + " must be between " + std::to_string(low) + " and " + std::to_string(high) + ", got " +
                                    std::to_string(value));
}

}  // namespace

Traces::Traces(std::string name, const TraceParts& parts, std::vector<std::int32_t> trace_of, std::vector<std::int64_t> shift_ns,
               Message message)
    : name_(std::move(name)), trace_of_(std::move(trace_of)), shift_(std::move(shift_ns)), message_(message) {
    const auto size = static_cast<std::int64_t>(parts.duration_ns.size());
    const bool is_whole = parts.offsets.size() > 1 && parts.offsets.front() == 0 && parts.offsets.back() == size;
    if (!is_whole || parts.bits_per_second.size() != parts.duration_ns.size() || parts.latency_ns.size() != parts.duration_ns.size())
        throw std::invalid_argument(name_ + ": expected at least one trace, with a duration, a throughput and a latency for every part");
    for (std::size_t trace = 0; trace + 1 < parts.offsets.size(); ++trace) append(trace, parts);
    require_between(message_.bits, 0, kMostBits, name_ + ": bits of a message");
    require_between(message_.exchanges, 0, 0x7fffffff, name_ + ": exchanges");
    require_between(message_.more_ns, 0, kLongest, name_ + ": nanoseconds more");
    if (trace_of_.empty() || trace_of_.size() != shift_.size())
        throw std::invalid_argument(name_ + ": expected a trace and a shift, one for all clients or one per client, got " +
                                    std::to_string(trace_of_.size()) + " traces and " + std::to_string(shift_.size()) + " shifts");
    for (std::size_t client = 0; client < trace_of_.size(); ++client) {
        const std::string whose = " of client " + std::to_string(client);
        require_between(trace_of_[client], 0, static_cast<std::int64_t>(period_.size()) - 1, name_ + ": the trace" + whose);
        const std::int64_t period = period_[static_cast<std::size_t>(trace_of_[client])];
        require_between(shift_[client], 0, period - 1, name_ + ": the shift" + whose + " in nanoseconds");
    }
}

void Traces::append(std::size_t trace, const TraceParts& parts) {
    const std::string where = name_ + ": trace " + std::to_string(trace);
    const std::int64_t begin = parts.offsets[trace], end = parts.offsets[trace + 1];
    if (begin >= end || end > parts.offsets.back()) throw std::invalid_argument(where + ": expected at least one part, got none");
    std::int64_t time = 0;
    Wide sent = 0;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const std::string part = where + ", part " + std::to_string(i - static_cast<std::size_t>(begin)) + ": ";
        require_between(parts.duration_ns[i], 1, kLongest, part + "the duration in nanoseconds");
        require_between(parts.bits_per_second[i], 0, kFastestBitsPerSecond, part + "bits per second");
        require_between(parts.latency_ns[i], 0, kLongest, part + "the latency in nanoseconds");
        begin_.push_back(time);
        rate_.push_back(parts.bits_per_second[i]);
        latency_.push_back(parts.latency_ns[i]);
        sent_.push_back(sent);
        time += parts.duration_ns[i];
        sent += static_cast<Wide>(parts.bits_per_second[i]) * parts.duration_ns[i];
        if (time > kLongest) throw std::invalid_argument(where + ": the whole trace must be at most 1e9 seconds long");
    }
    if (sent == 0) throw std::invalid_argument(where + ": the throughput is 0 for ever, so no transfer would end");
    first_.push_back(static_cast<std::int64_t>(begin_.size()));
    period_.push_back(time);
    whole_.push_back(sent);
}

std::int64_t Traces::takes(std::uint32_t client, std::int64_t from) const {
    const std::size_t who = trace_of_.size() == 1 ? 0 : client;
    const auto trace = static_cast<std::size_t>(trace_of_[who]);
    const std::int64_t first = first_[trace], last = first_[trace + 1], period = period_[trace];
    const std::int64_t at = (from % period + shift_[who]) % period;
    const auto here = static_cast<std::size_t>(std::upper_bound(begin_.begin() + first, begin_.begin() + last, at) - begin_.begin() - 1);
    Wide total = message_.more_ns + static_cast<Wide>(message_.exchanges) * latency_[here];
    if (message_.bits > 0) {
        const Wide goal =
            sent_[here] + static_cast<Wide>(rate_[here]) * (at - begin_[here]) + static_cast<Wide>(message_.bits) * kNanosecondsPerSecond;
        const Wide periods = (goal - 1) / whole_[trace];  // of which none but the last reaches it
        if (periods > kLongest / period + 1) refuse_endless(client, from);
        const Wide rest = goal - periods * whole_[trace];  // 1 .. whole
        const auto there =
            static_cast<std::size_t>(std::lower_bound(sent_.begin() + first, sent_.begin() + last, rest) - sent_.begin() - 1);
        const Wide into = (rest - sent_[there] + rate_[there] - 1) / rate_[there];  // the rate is > 0: more is sent after than before
        total += periods * period + begin_[there] + into - at;
    }
    if (total > kLongest) refuse_endless(client, from);
    return static_cast<std::int64_t>(total);
}

void Traces::refuse_endless(std::uint32_t client, std::int64_t from) const {
    throw std::invalid_argument(name_ + ": " + std::to_string(message_.bits) + " bits of client " + std::to_string(client) +
                                ", from second " + number(static_cast<double>(from) / kNanosecondsPerSecond) +
                                " on, take more than 1e9 seconds");
}

bool Traces::is_in_order() const {
    bool same = true;
    for (std::size_t trace = 0; trace < period_.size(); ++trace)
        for (std::int64_t part = first_[trace]; part < first_[trace + 1]; ++part)
            same = same && latency_[static_cast<std::size_t>(part)] == latency_[static_cast<std::size_t>(first_[trace])];
    return same;
}

void Traces::check_clients(std::uint32_t clients) const { check_count(name_, trace_of_.size(), clients); }

}  // namespace fedbench
