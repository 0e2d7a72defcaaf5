// Sums over the classes of a row.
#pragma once

#include <algorithm>

#include "formulas.hpp"
#include "pack.hpp"

namespace fedbench::distillation {
namespace {

/// The sums of lanes in float64; `add` takes the sum of at most kTerms terms.
template <typename Real>
struct Total {
    simd::Pack<double, Pack<Real>::width> lanes = simd::broadcast<Pack<Real>::width>(0.0);

    [[gnu::always_inline]] void add(const Pack<Real>& terms) { lanes = lanes + widened(terms); }
    [[gnu::always_inline]] double sum() const { return sum_of_lanes(lanes); }
};

/// Up to N sums of one row: packs of terms, and their totals.
template <typename Real, std::size_t N>
using Terms = std::array<Pack<Real>, N>;
template <typename Real, std::size_t N>
using Totals = std::array<Total<Real>, N>;

/// Returns N sums over a row of at least one pack. step(i, keep, terms) adds the packs at i = 0,
/// width, .. to the terms. The last pack ends with the row; its lanes before `keep` were counted
/// already.
template <typename Real, std::size_t N, typename Step>
[[gnu::always_inline]] inline Totals<Real, N> over_row(std::size_t classes, const Step& step) {
    constexpr std::size_t width = Pack<Real>::width;
    const std::size_t tail = classes % width, whole = classes - tail;
    Totals<Real, N> totals;
    const auto add = [&](const Terms<Real, N>& terms) __attribute__((always_inline)) {
        for (std::size_t k = 0; k < N; ++k) totals[k].add(terms[k]);
    };
    Terms<Real, N> zero;
    zero.fill(broadcast(Real{0}));
    for (std::size_t begin = 0; begin < whole; begin += kTerms * width) {
        const std::size_t end = std::min(whole, begin + kTerms * width);
        Terms<Real, N> terms = zero;
        for (std::size_t i = begin; i < end; i += width) step(i, std::size_t{0}, terms);
        add(terms);
    }
    if (tail == 0) return totals;
    Terms<Real, N> terms = zero;
    step(classes - width, width - tail, terms);
    add(terms);
    return totals;
}

/// Returns sum P log P in float64.
template <typename Real>
double negative_entropy(const Real* p, std::size_t classes) {
    constexpr std::size_t width = Pack<double>::width;
    Total<double> total;
    for (std::size_t i = 0; i < classes; i += width) {
        double values[width] = {};
        for (std::size_t j = 0; j < std::min(width, classes - i); ++j) values[j] = static_cast<double>(p[i + j]);
        total.add(plogp(load(values)));
    }
    return total.sum();
}

}  // namespace
}  // namespace fedbench::distillation
