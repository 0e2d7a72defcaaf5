// When clients are there: on and off windows as a pure function of (seed, client).
//
// A client is there on half-open windows [from, until) of virtual time, in nanoseconds from time 0.
// Work that ends at the very instant at which its client leaves has ended in time. One cursor per
// client is kept; a question about a later time copies it.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "fedbench/durations.hpp"
#include "fedbench/philox.hpp"

namespace fedbench {

inline constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

/// One stay of a client, on [from, until); the k-th in its own count. A client that does not come
/// back has from = until = kForever.
struct Window {
    std::int64_t from = 0;
    std::int64_t until = kForever;
    std::int64_t k = 0;
};

enum class AvailabilityKind {
    always,
    periodic,     ///< on for a fraction of every period
    alternating,  ///< exponential stays and absences
    table,        ///< scripted, one row per client; repeated with a period or not
};

/// What happens to a job whose client leaves before the upload has arrived.
enum class WhenOffline {
    lost,    ///< it is lost at that instant
    paused,  ///< download, computing and upload stop, and go on when the client is back; lost only if it has left for good
};

/// The windows of all clients, as data. Parameters hold one value for all clients or one per
/// client. Throws std::invalid_argument on values out of range, windows of no length, and clients
/// that are never there.
class Availability {
public:
    /// Everybody is always there.
    Availability() = default;
    /// A client is there in the first `on_fraction` (0, 1] of every period. At time 0 it is the
    /// fraction `phase` [0, 1) into its period; without phases they are drawn uniformly.
    static Availability periodic(std::vector<double> period_seconds, std::vector<double> on_fraction, std::vector<double> phase);
    /// Stays and absences are independent and exponential with these means, in the stationary
    /// state: a client is there at time 0 with probability mean_on / (mean_on + mean_off). With
    /// mean_off = 0 it is always there.
    static Availability alternating(std::vector<double> mean_on_seconds, std::vector<double> mean_off_seconds);
    /// Row i holds on_from, off_at, on_from, .. of client i in seconds, ascending. With period > 0
    /// the rows repeat.
    static Availability table(const Table<double>& rows, double period_seconds);

    bool is_always() const { return kind_ == AvailabilityKind::always; }
    void check_clients(std::uint32_t clients) const;

    /// Returns the stay at time 0, or else the first one after it.
    Window first(std::uint64_t seed, std::uint32_t client) const;
    /// Makes `window` the first stay that ends after `time`, if it is not. O(1) amortised over a
    /// client's stays.
    void advance(Window& window, std::uint64_t seed, std::uint32_t client, std::int64_t time) const;
    /// Returns the end of the client's last stay; kForever if it always comes back.
    std::int64_t last_leave(std::uint32_t client) const;
    /// Returns the length of one repetition and the time that a client is there in it; 0, 0 if the
    /// windows do not repeat.
    std::pair<std::int64_t, std::int64_t> cycle(std::uint32_t client) const;

private:
    struct Interval {
        std::int64_t from, until;
    };

    void read_row(const Table<double>& rows, std::size_t client);
    void join_round_the_end();
    Window nth(std::uint32_t client, std::int64_t k) const;
    void next_drawn(Window& window, std::uint64_t seed, std::uint32_t client) const;

    AvailabilityKind kind_ = AvailabilityKind::always;
    std::vector<std::int64_t> period_;  // periodic; a table has one, 0 if it does not repeat
    std::vector<std::int64_t> on_;      // time on in a period, or in a row
    std::vector<double> phase_;         // periodic; empty: drawn
    std::vector<double> mean_on_, mean_off_;
    std::vector<Interval> intervals_;   // table: the rows behind one another; a row of one endless interval is always on
    std::vector<std::int64_t> row_{0};  // row i is intervals_[row_[i] .. row_[i + 1])
};

/// The windows of all clients, with one cursor per client at the scheduler's present, which only
/// moves forward.
class Presence {
public:
    /// O(clients). Nothing is kept if everybody is always there.
    Presence(Availability availability, std::uint64_t seed, std::uint32_t clients);

    const Availability& availability() const { return availability_; }

    /// Returns whether the client is there at `now`, and moves its cursor. The other questions,
    /// about times >= now, do not move it.
    bool is_on(std::uint32_t client, std::int64_t now);
    /// Returns the stay at `time`, or else the next one.
    Window at(std::uint32_t client, std::int64_t time) const;
    /// Returns the next instant >= `time` at which the client is there; kForever if it does not
    /// come back.
    std::int64_t next_on(std::uint32_t client, std::int64_t time) const;
    /// Returns the end of the stay at `time`; `time` itself if the client is away then.
    std::int64_t leaves(std::uint32_t client, std::int64_t time) const;
    /// Returns when work of `duration` that begins at `time` is done if it rests while the client
    /// is away; kForever for never.
    std::int64_t finish(std::uint32_t client, std::int64_t time, std::int64_t duration) const;
    /// Returns the time that the client is there between `begin` and `end`; `window` was at(client,
    /// begin).
    std::int64_t online(std::uint32_t client, Window window, std::int64_t begin, std::int64_t end) const;

    void prefetch(std::uint32_t client) const {
        if (!windows_.empty()) __builtin_prefetch(windows_.data() + client);
    }

private:
    Availability availability_;
    std::uint64_t seed_;
    std::vector<Window> windows_;  // by client
};

}  // namespace fedbench
