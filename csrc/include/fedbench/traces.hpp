// Measured links: throughput and latency that change with time, one trace per client, repeated for
// ever.
//
// All numbers are integers (nanoseconds, bits, bits per second), so the end of a transfer is exact
// and the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fedbench/durations.hpp"

namespace fedbench {

inline constexpr std::int64_t kFastestBitsPerSecond = 1'000'000'000'000'000;
inline constexpr std::int64_t kMostBits = std::int64_t{1} << 62;  ///< of a message

/// The parts of all traces, stored behind one another; trace i has the parts offsets[i] ..
/// offsets[i + 1].
struct TraceParts {
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> duration_ns, bits_per_second, latency_ns;
};

/// What a job sends in one direction.
struct Message {
    std::int64_t bits = 0;
    std::int64_t exchanges = 1;  ///< each of which pays the latency
    std::int64_t more_ns = 0;    ///< added to every transfer
};

/// One message over the link of every client. A transfer that starts at `from` has sent its bits at
/// the first nanosecond by which the integral of the throughput since `from` reaches them; the
/// latency of the part in which it starts is added once for each exchange. Transfers do not share a
/// link. Throws std::invalid_argument for values out of range and for a trace whose throughput is 0
/// for ever.
class Traces {
public:
    /// `trace_of` and `shift_ns` have one entry for all clients or one per client: the trace that
    /// the client has, and how far it is into it at time 0, less than the trace's length. `name` is
    /// the name in messages.
    Traces(std::string name, const TraceParts& parts, std::vector<std::int32_t> trace_of, std::vector<std::int64_t> shift_ns,
           Message message);

    /// Returns the nanoseconds of a transfer that starts at `from` >= 0. O(log parts) for a message
    /// of any size. Throws std::invalid_argument beyond 1e9 seconds.
    std::int64_t takes(std::uint32_t client, std::int64_t from) const;

    /// Whether the latency is the same in all parts of every trace: then a transfer that starts
    /// later arrives later.
    bool is_in_order() const;
    void check_clients(std::uint32_t clients) const;

private:
    void append(std::size_t trace, const TraceParts& parts);
    [[noreturn]] void refuse_endless(std::uint32_t client, std::int64_t from) const;

    std::string name_;
    // by trace; trace i has the parts first_[i] .. first_[i + 1]
    std::vector<std::int64_t> first_{0}, period_;
    std::vector<Wide> whole_;  // what a whole period sends
    // by part
    std::vector<std::int64_t> begin_, rate_, latency_;
    std::vector<Wide> sent_;  // from the trace's beginning to the part's, in bits per second times nanoseconds: 1e-9 bits
    // by client
    std::vector<std::int32_t> trace_of_;
    std::vector<std::int64_t> shift_;
    Message message_;
};

}  // namespace fedbench
