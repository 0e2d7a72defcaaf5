#include "fedbench/availability.hpp"

#include <algorithm>
#include <stdexcept>

#include "checks.hpp"

namespace fedbench {

namespace {

constexpr std::int64_t kLatest = 4'000'000'000'000'000'000;  // about 127 years, four times the longest budget; later is never
constexpr double kShortestMean = 1e-3;                       // seconds; keeps the stays of one job countable
constexpr Window kGone{kForever, kForever, 0};

/// Repeats a single value until there are `count`.
void stretch(std::vector<double>& values, std::size_t count) {
    if (values.size() == 1) values.resize(count, values[0]);
    if (values.size() != count) check_count("availability", values.size(), static_cast<std::uint32_t>(count));
}

/// Converts to nanoseconds, at least one. Times longer than the longest budget are cut, since they
/// make no difference.
std::int64_t drawn_nanoseconds(double seconds) {
    return std::max<std::int64_t>(1, to_nanoseconds(std::min(seconds, kLongestSeconds), "availability"));
}

}  // namespace

Availability Availability::periodic(std::vector<double> period_seconds, std::vector<double> on_fraction, std::vector<double> phase) {
    Availability out;
    out.kind_ = AvailabilityKind::periodic;
    if (period_seconds.empty() || on_fraction.empty())
        throw std::invalid_argument("availability: periodic needs period_seconds and on_fraction, got none");
    const std::size_t count = std::max({period_seconds.size(), on_fraction.size(), phase.size()});
    stretch(period_seconds, count);
    stretch(on_fraction, count);
    if (!phase.empty()) stretch(phase, count);
    for (std::size_t i = 0; i < count; ++i) {
        require(period_seconds[i] > 0 && period_seconds[i] <= kLongestSeconds, "availability", "period_seconds", "in (0, 1e9]",
                period_seconds[i], i);
        require(on_fraction[i] > 0 && on_fraction[i] <= 1, "availability", "on_fraction", "in (0, 1]", on_fraction[i], i);
        if (!phase.empty()) require(phase[i] >= 0 && phase[i] < 1, "availability", "phase", "in [0, 1)", phase[i], i);
        out.period_.push_back(to_nanoseconds(period_seconds[i], "availability: period_seconds"));
        out.on_.push_back(static_cast<std::int64_t>(std::nearbyint(on_fraction[i] * static_cast<double>(out.period_[i]))));
        if (out.on_[i] < 1)
            throw std::invalid_argument("availability: on_fraction " + number(on_fraction[i]) + " of a period of " +
                                        number(period_seconds[i]) + " seconds is a window of no length (client " + std::to_string(i) + ")");
    }
    out.phase_ = std::move(phase);
    return out;
}

Availability Availability::alternating(std::vector<double> mean_on_seconds, std::vector<double> mean_off_seconds) {
    Availability out;
    out.kind_ = AvailabilityKind::alternating;
    if (mean_on_seconds.empty() || mean_off_seconds.empty())
        throw std::invalid_argument("availability: alternating needs mean_on_seconds and mean_off_seconds, got none");
    const std::size_t count = std::max(mean_on_seconds.size(), mean_off_seconds.size());
    stretch(mean_on_seconds, count);
    stretch(mean_off_seconds, count);
    for (std::size_t i = 0; i < count; ++i) {
        const double on = mean_on_seconds[i], off = mean_off_seconds[i];
        require(on >= kShortestMean && on <= kLongestSeconds, "availability", "mean_on_seconds", "between 0.001 and 1e9", on, i);
        require(off >= 0 && off <= kLongestSeconds, "availability", "mean_off_seconds", "between 0 and 1e9", off, i);
    }
    out.mean_on_ = std::move(mean_on_seconds);
    out.mean_off_ = std::move(mean_off_seconds);
    return out;
}

Availability Availability::table(const Table<double>& rows, double period_seconds) {
    Availability out;
    out.kind_ = AvailabilityKind::table;
    out.period_ = {to_nanoseconds(period_seconds, "availability: period_seconds")};
    for (std::size_t i = 0; i + 1 < rows.offsets.size(); ++i) out.read_row(rows, i);
    return out;
}

/// Reads a row; windows that touch become one.
void Availability::read_row(const Table<double>& rows, std::size_t client) {
    const std::string where = "availability: the windows of client " + std::to_string(client);
    const std::int64_t period = period_[0], begin = rows.offsets[client], end = rows.offsets[client + 1];
    if (begin == end) throw std::invalid_argument(where + ": there are none, so it would never be there");
    if ((end - begin) % 2 != 0) throw std::invalid_argument(where + ": expected pairs of on_from and off_at seconds");
    for (std::int64_t i = begin; i < end; i += 2) {
        const std::int64_t from = to_nanoseconds(rows.values[static_cast<std::size_t>(i)], where);
        const std::int64_t until = to_nanoseconds(rows.values[static_cast<std::size_t>(i + 1)], where);
        const bool is_first = static_cast<std::int64_t>(intervals_.size()) == row_.back();
        if (from >= until || (!is_first && from < intervals_.back().until) || (period > 0 && until > period))
            throw std::invalid_argument(
                where + ": must be ascending, of positive length, apart" + (period > 0 ? " and inside one period" : "") + ", got [" +
                number(rows.values[static_cast<std::size_t>(i)]) + ", " + number(rows.values[static_cast<std::size_t>(i + 1)]) + ")");
        if (!is_first && from == intervals_.back().until) intervals_.back().until = until;
        else intervals_.push_back({from, until});
    }
    std::int64_t on = 0;
    for (auto interval = intervals_.begin() + row_.back(); interval != intervals_.end(); ++interval) on += interval->until - interval->from;
    on_.push_back(on);
    if (period > 0) join_round_the_end();
    row_.push_back(static_cast<std::int64_t>(intervals_.size()));
}

/// Joins the last window of the newest row with the first one of the next repetition if they touch.
void Availability::join_round_the_end() {
    const auto first = intervals_.begin() + row_.back();
    if (first->from != 0 || intervals_.back().until != period_[0]) return;
    if (intervals_.end() - first == 1) {
        first->until = kForever;
        return;
    }
    intervals_.back().until += first->until;
    intervals_.erase(first);
}

void Availability::check_clients(std::uint32_t clients) const {
    if (kind_ == AvailabilityKind::periodic) check_count("availability", period_.size(), clients);
    if (kind_ == AvailabilityKind::alternating) check_count("availability", mean_on_.size(), clients);
    if (kind_ == AvailabilityKind::table) check_rows("availability", row_.size() - 1, clients);
}

Window Availability::first(std::uint64_t seed, std::uint32_t client) const {
    Window window;
    if (kind_ == AvailabilityKind::periodic) {
        const std::int64_t period = value_of(period_, client), on = value_of(on_, client);
        if (on == period) return window;
        const double phase = phase_.empty() ? RandomStream(seed, Purpose::availability, client).uniform() : value_of(phase_, client);
        window.from = -static_cast<std::int64_t>(phase * static_cast<double>(period));
        window.until = window.from + on;
    } else if (kind_ == AvailabilityKind::alternating) {
        const double on = value_of(mean_on_, client), off = value_of(mean_off_, client);
        if (off == 0) return window;
        RandomStream random(seed, Purpose::availability, client);
        const bool starts_on = random.uniform() * (on + off) < on;
        const std::int64_t absence = drawn_nanoseconds(off * random.exponential());
        window.from = starts_on ? 0 : absence;
        window.until = window.from + drawn_nanoseconds(on * random.exponential());
    } else if (kind_ == AvailabilityKind::table) {
        window = nth(client, period_[0] > 0 ? row_[client] - row_[client + 1] : 0);
    }
    advance(window, seed, client, 0);
    return window;
}

/// Returns stay k of a table; k = -1 is the last stay of the repetition before time 0.
Window Availability::nth(std::uint32_t client, std::int64_t k) const {
    const std::int64_t count = row_[client + 1] - row_[client];
    const std::int64_t repetition = k >= 0 ? k / count : -((count - 1 - k) / count);
    const Interval& interval = intervals_[static_cast<std::size_t>(row_[client] + k - repetition * count)];
    if (interval.until == kForever) return {};
    if (repetition != 0 && period_[0] == 0) return kGone;
    return {interval.from + repetition * period_[0], interval.until + repetition * period_[0], k};
}

void Availability::next_drawn(Window& window, std::uint64_t seed, std::uint32_t client) const {
    ++window.k;
    RandomStream random(seed, Purpose::availability, client, static_cast<std::uint32_t>(window.k));
    window.from = window.until + drawn_nanoseconds(value_of(mean_off_, client) * random.exponential());
    window.until = window.from + drawn_nanoseconds(value_of(mean_on_, client) * random.exponential());
}

void Availability::advance(Window& window, std::uint64_t seed, std::uint32_t client, std::int64_t time) const {
    if (window.until > time) return;
    if (time > kLatest) {
        window = kGone;
        return;
    }
    const std::int64_t length = cycle(client).first;
    if (length > 0) {  // whole repetitions at once
        const std::int64_t repetitions = (time - window.until) / length;
        window.from += repetitions * length;
        window.until += repetitions * length;
        if (kind_ == AvailabilityKind::table) window.k += repetitions * (row_[client + 1] - row_[client]);
    }
    while (window.until <= time) {
        if (kind_ == AvailabilityKind::periodic) window = {window.from + length, window.until + length, window.k + 1};
        else if (kind_ == AvailabilityKind::table) window = nth(client, window.k + 1);
        else next_drawn(window, seed, client);
    }
}

std::int64_t Availability::last_leave(std::uint32_t client) const {
    const bool ends = kind_ == AvailabilityKind::table && period_[0] == 0;
    return ends ? intervals_[static_cast<std::size_t>(row_[client + 1] - 1)].until : kForever;
}

std::pair<std::int64_t, std::int64_t> Availability::cycle(std::uint32_t client) const {
    if (kind_ == AvailabilityKind::periodic) return {value_of(period_, client), value_of(on_, client)};
    if (kind_ != AvailabilityKind::table || period_[0] == 0) return {0, 0};
    return {period_[0], on_[client]};
}

}  // namespace fedbench
