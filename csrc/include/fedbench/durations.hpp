// How long things take and how many local steps a job has: distributions as data, drawn per
// (client, job).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fedbench/philox.hpp"

namespace fedbench {

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
inline constexpr double kLongestSeconds = 1e9;  ///< about 31 years; keeps sums of times far below the int64 limit

__extension__ using Wide = __int128;  ///< nanoseconds times gradients

/// Seconds to nanoseconds, rounded to nearest, ties to even. Throws std::invalid_argument unless 0
/// <= seconds <= 1e9.
std::int64_t to_nanoseconds(double seconds, const std::string& what);

/// Rows of different lengths, stored behind one another; row i is values[offsets[i] .. offsets[i +
/// 1]).
template <typename T>
struct Table {
    std::vector<T> values;
    std::vector<std::int64_t> offsets;

    bool empty() const { return offsets.empty(); }
    /// Returns entry k of row i. Throws std::invalid_argument, naming the list, if the row is too
    /// short.
    const T& at(const std::string& what, std::uint32_t row, std::uint32_t k) const;
};

enum class DurationKind {
    constant,     ///< a seconds
    uniform,      ///< uniform on [a, b) seconds
    exponential,  ///< mean a seconds
    lognormal,    ///< exp(a + b z) seconds, z standard normal
    pareto,       ///< a (1 - u)^(-1/b) seconds: scale a, shape b
    table,        ///< scripted, one row per client, one entry per job
};

/// A duration for every (client, job). `a` and `b` hold one value for all clients or one per
/// client. With `per_step` the value is the duration of one local step and a job of K steps takes K
/// times it (drawn once per job). Throws std::invalid_argument on parameters outside the
/// distribution's range and on durations outside [0, 1e9] seconds.
class Durations {
public:
    Durations(std::string name, DurationKind kind, std::vector<double> a, std::vector<double> b, bool per_step, Table<double> table);

    /// Returns the nanoseconds of one unit (job or step) of job k of `client`.
    std::int64_t unit(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k) const;
    /// Returns the nanoseconds of a whole job of `steps` steps that computes so many mini-batch
    /// gradients. The durations are those of one gradient a step: a job with more takes longer in
    /// proportion, rounded down. Throws std::invalid_argument beyond 1e9 seconds.
    std::int64_t job(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::int32_t steps,
                     std::int64_t gradients) const;

    bool is_constant() const { return kind_ == DurationKind::constant; }
    bool per_step() const { return per_step_; }
    /// A hint: this client's parameters will soon be read.
    void prefetch(std::uint32_t client) const {
        if (constant_ns_.size() > 1) __builtin_prefetch(constant_ns_.data() + client);
    }
    void check_clients(std::uint32_t clients) const;

private:
    std::string name_;
    DurationKind kind_;
    std::vector<double> a_, b_;
    std::vector<std::int64_t> constant_ns_;
    bool per_step_;
    Table<std::int64_t> table_ns_;
};

/// The mini-batch gradients that a job computes: `per_step` in each of its local steps, and
/// `beside` the steps one number per client (empty: none).
struct GradientWork {
    std::int32_t per_step = 1;
    std::vector<std::int32_t> beside = {};

    /// Returns the gradients of a job of `steps` steps.
    std::int64_t of(std::uint32_t client, std::int32_t steps) const { return std::int64_t{steps} * per_step + beside_of(client); }
    std::int32_t beside_of(std::uint32_t client) const { return beside.empty() ? 0 : beside[client]; }
    bool is_one_per_step() const { return per_step == 1 && beside.empty(); }
    /// Throws std::invalid_argument unless per_step >= 1, everything beside is >= 0, and there is
    /// one number per client or none.
    void check_clients(std::uint32_t clients) const;
};

/// Local steps K of every (client, job): one for all, one per client, one per client and job, or drawn as
/// K = max(1, floor(|X|)), X ~ Normal(mean, variance) [FedaGrac, random mode].
class Steps {
public:
    static Steps constant(std::vector<std::int32_t> per_client);
    static Steps table(Table<std::int32_t> rows);
    static Steps normal(double mean, double variance);

    std::int32_t of(std::uint64_t seed, std::uint32_t client, std::uint32_t k) const;
    void check_clients(std::uint32_t clients) const;

private:
    std::vector<std::int32_t> per_client_;
    Table<std::int32_t> table_;
    double mean_ = 0, deviation_ = 0;
};

}  // namespace fedbench
