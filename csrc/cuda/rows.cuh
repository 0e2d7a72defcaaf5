// The kernels of distill.hpp. The first pass sums every row in the CPU's order: up to kFew classes
// a thread is a lane that holds a row; else a few neighbouring threads are the lanes of a pack that
// goes along the row. The second pass, once alpha is known, takes an element per thread; it
// computes the exponentials again, which costs less than memory for them.
#pragma once

#include "../distill/formulas.hpp"
#include "runtime.cuh"

namespace fedbench::cuda {

namespace formulas = distillation;

/// The lanes of a CPU's pack of 64 bytes.
template <typename Real>
inline constexpr unsigned kWidth = 64 / sizeof(Real);

/// What the second pass needs of a row.
template <typename Real>
struct RowScale {
    Real teacher_peak, student_peak, one_over_e, one_over_f;
    std::int64_t label;
};

/// Device memory of a call. `rows` are three doubles a row, (3, B): H, KL, CE; the other outputs as
/// in DistillRows, or null.
template <typename Real>
struct DistillCall {
    const Real *student, *teacher;
    std::size_t count, classes;  // B, C
    bool given;                  // the teacher holds probabilities
    double* rows;
    RowScale<Real>* scales;
    std::int64_t* label;
    Real *grad, *probabilities;
};

/// Sums of a row: as in distill/groups.hpp.
template <typename Real>
struct RowSums {
    double e, negative_entropy, f, gap, mass;
    Real teacher_peak, student_peak;
    std::int64_t label;
};

template <typename Real>
__device__ void finish_row(const DistillCall<Real>& call, std::size_t u, const RowSums<Real>& row) {
    const double log_e = formulas::log_positive(row.e), log_f = formulas::log_positive(row.f);
    const std::size_t at = u * call.classes + static_cast<std::size_t>(row.label);
    const double at_label = static_cast<double>(call.student[at]) - static_cast<double>(row.student_peak);
    call.rows[u] = formulas::entropy_of(log_e, row.negative_entropy, row.e);
    call.rows[call.count + u] = formulas::divergence_of(row.gap, row.e, log_e, row.mass, log_f);
    call.rows[2 * call.count + u] = formulas::cross_entropy_of(log_f, at_label);
    call.scales[u] = {row.teacher_peak, row.student_peak, static_cast<Real>(1 / row.e), static_cast<Real>(1 / row.f), row.label};
    if (call.label != nullptr) call.label[u] = row.label;
}

/// distill/few_classes.hpp for one lane. 1 / E of a float E is the same computed from E as a
/// double, since two more roundings at twice the digits do no harm.
template <typename Real>
__global__ void sum_few_classes(DistillCall<Real> call) {
    const std::size_t u = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (u >= call.count) return;
    const Real *t = call.teacher + u * call.classes, *s = call.student + u * call.classes;
    Real t_max = t[0], s_max = s[0];
    std::int64_t label = 0;
    for (std::size_t c = 1; c < call.classes; ++c) {
        if (t[c] > t_max) label = static_cast<std::int64_t>(c), t_max = t[c];
        if (s[c] > s_max) s_max = s[c];
    }
    Real e_sum = 0, f_sum = 0, weighted = 0, gap = 0;
    for (std::size_t c = 0; c < call.classes; ++c) {
        const Real dt = t[c] - t_max, ds = s[c] - s_max;
        const Real e = formulas::exp_negative(dt), f = formulas::exp_negative(ds);
        e_sum = e_sum + e;
        f_sum = f_sum + f;
        weighted = std::fma(e, dt, weighted);
        gap = std::fma(e, dt - ds, gap);
    }
    finish_row<Real>(call, u, {e_sum, weighted, f_sum, gap, 1, t_max, s_max, label});
}

/// Neighbouring threads of a warp that go along one row together.
template <unsigned width>
struct Lanes {
    unsigned lane, mask;

    __device__ Lanes() : lane(threadIdx.x % width), mask(((1u << width) - 1) << (threadIdx.x % 32 / width * width)) {}

    template <typename T>
    __device__ T from(unsigned other, T value) const {
        return __shfl_sync(mask, value, static_cast<int>(other), width);
    }
    /// Adds the lanes as add_lanes of simd/tree.hpp does: lane j + width / 2 to lane j, and so on.
    /// Every lane gets the sum.
    __device__ double sum(double value) const {
        for (unsigned step = width / 2; step > 0; step /= 2) value += __shfl_xor_sync(mask, value, static_cast<int>(step), width);
        return value;
    }
    __device__ long long smallest(long long value) const {
        for (unsigned step = width / 2; step > 0; step /= 2) {
            const long long other = __shfl_xor_sync(mask, value, static_cast<int>(step), width);
            value = other < value ? other : value;
        }
        return value;
    }
};

/// Does what largest_of of distill/peaks.hpp does, in the same order, so that a row with a NaN has
/// the same label.
template <typename Real>
__device__ Real largest_of(const Real* row, std::size_t classes, const Lanes<kWidth<Real>>& lanes) {
    constexpr std::size_t width = kWidth<Real>, chains = 4;
    const Real tail = row[classes - width + lanes.lane];
    Real best[chains] = {tail, tail, tail, tail};
    const auto larger = [](Real x, Real y) { return x > y ? x : y; };
    std::size_t i = 0;
    for (; i + chains * width <= classes; i += chains * width)
        for (std::size_t k = 0; k < chains; ++k) best[k] = larger(row[i + k * width + lanes.lane], best[k]);
    for (; i + width <= classes; i += width) best[0] = larger(row[i + lanes.lane], best[0]);
    Real mine = larger(larger(best[0], best[1]), larger(best[2], best[3]));
    for (unsigned half = width / 2; half > 0; half /= 2) mine = larger(mine, lanes.from((lanes.lane + half) % width, mine));
    return lanes.from(0, mine);
}

/// Returns the first place of `value` in a row; 0 if it is not there (NaN).
template <typename Real>
__device__ std::int64_t first_place_of(const Real* row, std::size_t classes, Real value, const Lanes<kWidth<Real>>& lanes) {
    std::size_t i = lanes.lane;
    while (i < classes && row[i] != value) i += kWidth<Real>;
    const long long first = lanes.smallest(static_cast<long long>(i));
    return static_cast<std::size_t>(first) < classes ? first : 0;
}

/// Computes a lane's four sums, of e, e dt, f and e ds, over the elements first, first + width, ..
/// before `end`, at most kTerms of them. A lane that is not `used` has zeros.
template <typename Real>
__device__ void terms_of(const Real* t, const Real* s, Real t_max, Real s_max, std::size_t first, std::size_t end, bool used,
                         Real (&terms)[4]) {
    for (Real& term : terms) term = 0;
    for (std::size_t i = first; i < end; i += kWidth<Real>) {
        const Real dt = t[i] - t_max, ds = s[i] - s_max;
        const Real e = used ? formulas::exp_negative(dt) : Real{0}, f = used ? formulas::exp_negative(ds) : Real{0};
        terms[0] = terms[0] + e;
        terms[1] = std::fma(e, dt, terms[1]);
        terms[2] = terms[2] + f;
        terms[3] = std::fma(e, ds, terms[3]);
    }
}

/// A row in pieces of kTerms elements a lane. If a pack is left over, it ends with the row, and its
/// first lanes were had already.
template <typename Real>
struct Pieces {
    static constexpr std::size_t kStep = formulas::kTerms * kWidth<Real>;
    const Real *t, *s;
    Real t_max, s_max;
    std::size_t classes, tail = classes % kWidth<Real>, whole = classes - tail, full = blocks_for(whole, kStep);

    __device__ std::size_t count() const { return full + (tail > 0); }
    __device__ void terms(std::size_t piece, unsigned lane, Real (&to)[4]) const {
        const std::size_t begin = piece * kStep, end = begin + kStep < whole ? begin + kStep : whole;
        if (piece < full) terms_of(t, s, t_max, s_max, begin + lane, end, true, to);
        else terms_of(t, s, t_max, s_max, classes - kWidth<Real> + lane, classes, lane >= kWidth<Real> - tail, to);
    }
};

/// Returns the row of which this thread is a lane; the threads of a row are neighbours.
template <typename Real>
__device__ std::size_t my_row() {
    return (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWidth<Real>;
}

/// Both loops of distill/many_classes.hpp over a row, in one.
template <typename Real>
__global__ void sum_many_classes(DistillCall<Real> call) {
    const std::size_t u = my_row<Real>(), classes = call.classes;
    if (u >= call.count) return;
    const Lanes<kWidth<Real>> lanes;
    const Real *t = call.teacher + u * classes, *s = call.student + u * classes;
    const Real t_max = largest_of(t, classes, lanes), s_max = largest_of(s, classes, lanes);
    const Pieces<Real> pieces{t, s, t_max, s_max, classes};
    double totals[4] = {};
    for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
        Real terms[4];
        pieces.terms(piece, lanes.lane, terms);
        for (int k = 0; k < 4; ++k) totals[k] += static_cast<double>(terms[k]);
    }
    double sums[4];
    for (int k = 0; k < 4; ++k) sums[k] = lanes.sum(totals[k]);
    const std::int64_t label = first_place_of(t, classes, t_max, lanes);
    if (lanes.lane == 0) finish_row<Real>(call, u, {sums[0], sums[1], sums[2], sums[1] - sums[3], 1, t_max, s_max, label});
}

template <typename Real>
struct Highest {
    Real value;
    std::int64_t place;
};

/// Does what std::max_element does: finds the first of the largest; place 0 if the first element is
/// NaN, while other NaNs are ignored.
template <typename Real>
__device__ Highest<Real> highest_of(const Real* row, std::size_t classes, const Lanes<kWidth<Real>>& lanes) {
    Highest<Real> mine{row[0], 0};
    for (std::size_t i = lanes.lane; i < classes; i += kWidth<Real>)
        if (row[i] > mine.value) mine = {row[i], static_cast<std::int64_t>(i)};
    Highest<Real> best{lanes.from(0, mine.value), lanes.from(0, static_cast<long long>(mine.place))};
    for (unsigned j = 1; j < kWidth<Real>; ++j) {
        const Real value = lanes.from(j, mine.value);
        const long long place = lanes.from(j, static_cast<long long>(mine.place));
        if (value > best.value || (value == best.value && place < best.place)) best = {value, place};
    }
    return best;
}

/// Returns sum P log P, with the eight lanes of a pack of doubles.
template <typename Real>
__device__ double negative_entropy(const Real* p, std::size_t classes, const Lanes<kWidth<Real>>& lanes) {
    double total = 0;
    if (lanes.lane < kWidth<double>)
        for (std::size_t c = lanes.lane; c < classes; c += kWidth<double>) total += formulas::plogp(static_cast<double>(p[c]));
    return lanes.sum(total);  // the other lanes, if there are any, are zeros
}

/// distill/given_probabilities.hpp, for any number of classes.
template <typename Real>
__global__ void sum_given(DistillCall<Real> call) {
    const std::size_t u = my_row<Real>(), classes = call.classes;
    if (u >= call.count) return;
    const Lanes<kWidth<Real>> lanes;
    const Real *p = call.teacher + u * classes, *s = call.student + u * classes;
    const std::int64_t label = highest_of(p, classes, lanes).place;
    const Real peak = highest_of(s, classes, lanes).value;
    double mass = 0, normaliser = 0, cross = 0;
    for (std::size_t c = lanes.lane; c < classes; c += kWidth<Real>) {
        const Real ds = s[c] - peak;
        mass += static_cast<double>(p[c]);
        normaliser += static_cast<double>(formulas::exp_negative(ds));
        cross += static_cast<double>(p[c] * ds);
    }
    mass = lanes.sum(mass), normaliser = lanes.sum(normaliser), cross = lanes.sum(cross);
    const double entropy = negative_entropy(p, classes, lanes);
    if (lanes.lane == 0) finish_row<Real>(call, u, {1, entropy, normaliser, entropy - cross, mass, Real{0}, peak, label});
}

/// Computes grad = (Q - alpha P) / B, with (1 - alpha) / B taken away at the label, and P if it is
/// wanted.
template <typename Real>
__global__ void write_gradient(DistillCall<Real> call, const formulas::Mix<Real>* found) {
    const formulas::Mix<Real> mix = *found;
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= call.count * call.classes) return;
    const std::size_t u = i / call.classes;
    const RowScale<Real> row = call.scales[u];
    const Real t = call.teacher[i];
    const Real p = call.given ? t : formulas::exp_negative(t - row.teacher_peak) * row.one_over_e;
    const Real q = formulas::exp_negative(call.student[i] - row.student_peak) * row.one_over_f;
    const Real g = formulas::residual(q, p, mix.minus_alpha, mix.scale);
    call.grad[i] = i - u * call.classes == static_cast<std::size_t>(row.label) ? g - mix.hard : g;
    if (call.probabilities != nullptr) call.probabilities[i] = p;
}

}  // namespace fedbench::cuda
