// The formulas for H, KL, CE, alpha, the loss and its gradient, from the sums of a row and of all
// rows. V is a number or a pack.
#pragma once

#include <cstddef>

#include "elementary.hpp"
#include "fedbench/distill.hpp"

namespace fedbench::distillation {
namespace {

inline constexpr std::size_t kFew = 32;    // the most classes with which a lane is a row
inline constexpr std::size_t kTerms = 32;  // how many terms of a lane are added before they go to float64

/// H = log E - sum e (teacher - max) / E, with e = exp(teacher - max) and E their sum.
template <typename V>
[[gnu::always_inline]] constexpr V entropy_of(const V& log_e, const V& negative_entropy, const V& e) {
    return log_e - negative_entropy / e;
}

/// KL = gap / E - log E + mass log F, with F the student's E, gap = sum e ((teacher - max) -
/// (student - max)), mass = sum P.
template <typename V>
[[gnu::always_inline]] constexpr V divergence_of(const V& gap, const V& e, const V& log_e, const V& mass, const V& log_f) {
    return (gap / e - log_e) + mass * log_f;
}

/// CE = log F - (student[label] - max).
template <typename V>
[[gnu::always_inline]] constexpr V cross_entropy_of(const V& log_f, const V& at_label) {
    return log_f - at_label;
}

/// Returns P log P; a P below the normal numbers counts as 0.
template <typename V>
[[gnu::always_inline]] constexpr V plogp(const V& p) {
    const V least = of<V>(2.2250738585072014e-308);
    return where_greater(least, p, of<V>(0.0), p * log_positive(where_greater(least, p, of<V>(1.0), p)));
}

/// Sums over all rows, in row order.
struct LossSums {
    double entropy = 0, kl = 0, ce = 0;
};

/// Returns the result with alpha, once the entropies are known.
constexpr Distilled with_alpha(const DistillRule& rule, std::size_t rows, const LossSums& sums) {
    const double relative = sums.entropy / static_cast<double>(rows) / log_positive(static_cast<double>(rule.classes));
    return {0, relative, relative * rule.alphas.max + (1 - relative) * rule.alphas.min};
}

constexpr double loss_of(double alpha, std::size_t rows, const LossSums& sums) {
    return (alpha * sums.kl + (1 - alpha) * sums.ce) / static_cast<double>(rows);
}

/// The numbers of the gradient (Q - alpha P) / B, from which (1 - alpha) / B is taken at the label.
/// They are rounded once to the vectors' type.
template <typename Real>
struct Mix {
    Real minus_alpha, scale, hard;

    constexpr Mix(double alpha, std::size_t rows)
        : minus_alpha(static_cast<Real>(-alpha)),
          scale(static_cast<Real>(1 / static_cast<double>(rows))),
          hard(static_cast<Real>((1 - alpha) / static_cast<double>(rows))) {}
};

template <typename V>
[[gnu::always_inline]] constexpr V residual(const V& q, const V& p, const V& minus_alpha, const V& scale) {
    return fma(p, minus_alpha, q) * scale;
}

}  // namespace
}  // namespace fedbench::distillation
