// Functions for benchmarks only: the hold model of the event queue, and a reader as fast as the
// memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "../simd/prefetch.hpp"
#include "fedbench/detail/event_queue.hpp"

namespace fedbench {

/// The hold model, the usual measure of an event queue: n events are pending; the earliest is
/// popped and pushed again later. Ties go to the lowest client. Not thread-safe.
class Hold {
public:
    struct Result {
        std::int64_t time;       ///< of the last event, nanoseconds; 0 if there was none
        std::uint64_t checksum;  ///< FNV-1a over the clients in the order in which they came up
    };

    /// Client i's first event is at times[i] (ns); n >= 1.
    explicit Hold(std::span<const std::int64_t> times) {
        for (std::size_t i = 0; i < times.size(); ++i) queue_.push({times[i], Phase::arrival, static_cast<std::uint32_t>(i), 0});
    }

    /// One event per increment (ns, >= 0): whoever comes up is pushed again that much later. O(log
    /// n) each.
    Result run(std::span<const std::int64_t> increments) {
        Result result{0, 0xcbf29ce484222325};
        for (const std::int64_t increment : increments) {
            Event event = queue_.pop();
            result = {event.time, (result.checksum ^ event.client()) * 0x100000001b3};
            event.time += increment;
            queue_.push(event);
        }
        return result;
    }

private:
    EventQueue queue_;
};

/// Returns the exclusive or of all bits of K rows of d floats. It reads a cache line of each row in
/// turn: K streams, and no arithmetic to wait for.
inline std::uint32_t read_rows(std::span<const float* const> rows, std::size_t d) {
    typedef std::uint32_t Quarter __attribute__((vector_size(16)));  // named ones: GCC keeps an array of them in memory
    constexpr std::size_t line = 16;
    const auto load = [](const float* p) {
        Quarter bits;
        std::memcpy(&bits, p, sizeof bits);
        return bits;
    };
    Quarter a{}, b{}, c{}, e{};
    std::size_t i = 0;
    for (; i + line <= d; i += line)
        for (const float* row : rows) {
            fetch_ahead(row + i);
            a ^= load(row + i), b ^= load(row + i + 4), c ^= load(row + i + 8), e ^= load(row + i + 12);
        }
    const Quarter all = (a ^ b) ^ (c ^ e);
    std::uint32_t bits = all[0] ^ all[1] ^ all[2] ^ all[3];
    for (; i < d; ++i)
        for (const float* row : rows) bits ^= std::bit_cast<std::uint32_t>(row[i]);
    return bits;
}

}  // namespace fedbench
