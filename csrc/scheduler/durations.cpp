#include "fedbench/durations.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace fedbench {

std::int64_t to_nanoseconds(double seconds, const std::string& what) {
    if (!(seconds >= 0 && seconds <= kLongestSeconds))
        throw std::invalid_argument(what + ": must be between 0 and 1e9 seconds, got " + number(seconds));
    return static_cast<std::int64_t>(std::nearbyint(seconds * kNanosecondsPerSecond));
}

template <typename T>
const T& Table<T>::at(const std::string& what, std::uint32_t row, std::uint32_t k) const {
    const std::int64_t index = offsets[row] + k;
    if (index >= offsets[row + 1])
        throw std::invalid_argument(what + ": the list of client " + std::to_string(row) + " has " +
                                    std::to_string(offsets[row + 1] - offsets[row]) + " entries, entry " + std::to_string(k) +
                                    " was needed");
    return values[static_cast<std::size_t>(index)];
}

template struct Table<std::int64_t>;
template struct Table<std::int32_t>;

Durations::Durations(std::string name, DurationKind kind, std::vector<double> a, std::vector<double> b, bool per_step, Table<double> table)
    : name_(std::move(name)), kind_(kind), a_(std::move(a)), b_(std::move(b)), per_step_(per_step) {
    if (kind_ == DurationKind::table) {
        table_ns_.offsets = std::move(table.offsets);
        for (double seconds : table.values) table_ns_.values.push_back(to_nanoseconds(seconds, name_));
        return;
    }
    if (a_.empty()) throw std::invalid_argument(name_ + ": expected at least one value, got none");
    if (kind_ != DurationKind::constant && kind_ != DurationKind::exponential && b_.empty())
        throw std::invalid_argument(name_ + ": this distribution needs a second parameter, got none");
    if (b_.size() > 1) check_count(name_, a_.size(), static_cast<std::uint32_t>(b_.size()));
    if (b_.size() == 1) b_.resize(a_.size(), b_[0]);  // every pair (a, b) is checked below
    for (std::size_t i = 0; i < a_.size(); ++i) {
        if (kind_ == DurationKind::lognormal) {
            require(std::isfinite(a_[i]), name_, "mu", "finite", a_[i], i);
        } else {
            require(a_[i] >= 0 && a_[i] <= kLongestSeconds, name_, "seconds", "between 0 and 1e9", a_[i], i);
        }
        if (kind_ == DurationKind::constant) constant_ns_.push_back(to_nanoseconds(a_[i], name_));
    }
    for (std::size_t i = 0; i < b_.size(); ++i) {
        if (kind_ == DurationKind::uniform) require(b_[i] >= value_of(a_, i), name_, "high", ">= low", b_[i], i);
        if (kind_ == DurationKind::lognormal) require(b_[i] >= 0, name_, "sigma", ">= 0", b_[i], i);
        if (kind_ == DurationKind::pareto) require(b_[i] > 0, name_, "shape", "> 0", b_[i], i);
    }
}

std::int64_t Durations::unit(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k) const {
    if (kind_ == DurationKind::constant) return value_of(constant_ns_, client);
    if (kind_ == DurationKind::table) return table_ns_.at(name_, client, k);
    RandomStream stream(seed, purpose, client, k);
    const double a = value_of(a_, client);
    double seconds = 0;
    switch (kind_) {
        case DurationKind::uniform:
            seconds = a + (value_of(b_, client) - a) * stream.uniform();
            break;
        case DurationKind::exponential:
            seconds = a * stream.exponential();
            break;
        case DurationKind::lognormal:
            seconds = portable_exp(a + value_of(b_, client) * stream.normal());
            break;
        default:
            seconds = a * portable_exp(stream.exponential() / value_of(b_, client));
            break;  // pareto
    }
    return to_nanoseconds(seconds, name_ + " of client " + std::to_string(client) + ", job " + std::to_string(k));
}

std::int64_t Durations::job(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::int32_t steps,
                            std::int64_t gradients) const {
    const std::int64_t one = unit(seed, purpose, client, k);
    if (!per_step_ && gradients == steps) return one;
    constexpr std::int64_t longest = static_cast<std::int64_t>(kLongestSeconds) * kNanosecondsPerSecond;
    Wide whole = static_cast<Wide>(one) * gradients;
    if (!per_step_) whole /= std::max(steps, 1);
    if (whole > longest)
        throw std::invalid_argument(name_ + ": " + std::to_string(steps) + " steps of client " + std::to_string(client) + ", " +
                                    std::to_string(gradients) + " gradients, take more than 1e9 seconds");
    return static_cast<std::int64_t>(whole);
}

void GradientWork::check_clients(std::uint32_t clients) const {
    if (per_step < 1) throw std::invalid_argument("gradients: per_step must be >= 1, got " + std::to_string(per_step));
    for (std::size_t i = 0; i < beside.size(); ++i) require(beside[i] >= 0, "gradients", "beside the steps", ">= 0", beside[i], i);
    if (!beside.empty() && beside.size() != clients)
        throw std::invalid_argument("gradients: beside the steps, expected " + std::to_string(clients) + " numbers, one per client, got " +
                                    std::to_string(beside.size()));
}

void Durations::check_clients(std::uint32_t clients) const {
    if (kind_ == DurationKind::table) return check_rows(name_, table_ns_.offsets.size() - 1, clients);
    check_count(name_, a_.size(), clients);
    if (!b_.empty()) check_count(name_, b_.size(), clients);
}

Steps Steps::constant(std::vector<std::int32_t> per_client) {
    Steps steps;
    for (std::size_t i = 0; i < per_client.size(); ++i) require(per_client[i] >= 0, "steps", "local steps", ">= 0", per_client[i], i);
    steps.per_client_ = std::move(per_client);
    return steps;
}

Steps Steps::table(Table<std::int32_t> rows) {
    for (std::int32_t value : rows.values) require(value >= 0, "steps", "local steps", ">= 0", value, 0);
    Steps steps;
    steps.table_ = std::move(rows);
    return steps;
}

Steps Steps::normal(double mean, double variance) {
    if (!(std::isfinite(mean) && variance >= 0 && std::abs(mean) + 50 * std::sqrt(variance) < 2e9))
        throw std::invalid_argument("steps: expected a finite mean and a variance >= 0, got mean " + number(mean) + ", variance " +
                                    number(variance));
    Steps steps;
    steps.mean_ = mean;
    steps.deviation_ = std::sqrt(variance);
    return steps;
}

std::int32_t Steps::of(std::uint64_t seed, std::uint32_t client, std::uint32_t k) const {
    if (!per_client_.empty()) return value_of(per_client_, client);
    if (!table_.empty()) return table_.at("steps", client, k);
    const double x = mean_ + deviation_ * RandomStream(seed, Purpose::steps, client, k).normal();
    const auto truncated = static_cast<std::int32_t>(std::abs(x));
    return truncated > 1 ? truncated : 1;
}

void Steps::check_clients(std::uint32_t clients) const {
    if (!per_client_.empty()) check_count("steps", per_client_.size(), clients);
    if (!table_.empty()) check_rows("steps", table_.offsets.size() - 1, clients);
}

}  // namespace fedbench
