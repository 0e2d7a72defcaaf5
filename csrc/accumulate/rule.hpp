// The numbers of an optimiser's rule and its formula for one element, written once for the loops of
// the CPU and the kernels of a GPU.
//
// Everything here is a constexpr template or function, which nvcc also compiles for the device
// (--expt-relaxed-constexpr). So there is no macro, and the host's compiler sees plain C++. All
// that a formula calls (fma, sqrt) is correctly rounded on both sides, and the device is compiled
// without contraction and fast-math, so the bits are equal. The namespace is unnamed on purpose:
// code for different instruction sets must not be merged.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "fedbench/optimise.hpp"

namespace fedbench::optimising {

/// The rule's numbers, rounded once to the vectors' type.
template <typename Real>
struct Factors {
    Real beta1, rest1, beta2, rest2, scale, rate, root, epsilon;  // scale of g; +-rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t)
};

enum class Maximum { none, kept, used };
enum class Momentum { now, ahead };

/// The vectors of an adaptive step; vhat is not read without a maximum.
template <typename Real>
struct Step {
    Real *x, *m, *v, *vhat;
    const Real* g;
    std::size_t d;
    Maximum maximum;
    Momentum momentum = Momentum::now;
    Second second = Second::adam;
};

/// What a step does, as a type: its loop or kernel has no branches.
template <Maximum maximum_, Momentum momentum_, Second second_>
struct Kind {
    static constexpr Maximum maximum = maximum_;
    static constexpr Momentum momentum = momentum_;
    static constexpr Second second = second_;
};

/// One element of x and its moments.
template <typename Real>
struct Element {
    Real x, m, v, vhat;
};

namespace {

/// Returns base^exponent by repeated squaring, without libm.
constexpr double power(double base, std::int64_t exponent) {
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

template <typename Real>
constexpr Factors<Real> factors_of(const AdamRule& rule, double signed_rate, double scale) {
    const double first = rule.bias_correction ? 1 - power(rule.beta1, rule.step) : 1;
    const double second = rule.bias_correction ? 1 - power(rule.beta2, rule.step) : 1;
    const auto real = [](double value) { return static_cast<Real>(value); };
    return {real(rule.beta1),          real(1 - rule.beta1),        real(rule.beta2),  real(1 - rule.beta2), real(scale),
            real(signed_rate / first), real(1 / std::sqrt(second)), real(rule.epsilon)};
}

/// Returns the clipping of a gradient to `bound`, given its squared norm.
constexpr Clip clip_of(double norm2, double bound) {
    const double norm = std::sqrt(norm2);
    const bool whole = norm <= bound || bound == std::numeric_limits<double>::infinity();
    return {norm, whole ? 1 : bound / norm};
}

template <typename Real>
constexpr Real descended(Real x, Real g, Real scale, Real rate) {
    return x - rate * (scale * g);
}

/// Returns the second moment after a direction.
template <Second rule, typename Real>
constexpr Real second_moment(Real v, Real direction, const Factors<Real>& f) {
    if constexpr (rule == Second::adam) return f.beta2 * v + f.rest2 * direction * direction;
    const Real square = direction * direction;
    if constexpr (rule == Second::adagrad) return v + square;
    const Real sign = static_cast<Real>(v > square) - static_cast<Real>(v < square);
    return v - f.rest2 * square * sign;
}

/// Makes the step that optimise.hpp states. `Maximum::none` leaves vhat as it is.
template <typename Kind, typename Real>
constexpr Element<Real> adapted(const Element<Real>& now, Real g, const Factors<Real>& f) {
    const Real direction = f.scale * g;
    const Real first = f.beta1 * now.m + f.rest1 * direction;
    const Real second = second_moment<Kind::second>(now.v, direction, f);
    const Real largest = Kind::maximum == Maximum::none || second <= now.vhat ? now.vhat : second;
    const Real u = Kind::maximum == Maximum::used ? largest : second;
    const Real used = Kind::momentum == Momentum::now ? first : f.beta1 * first + f.rest1 * direction;
    return {now.x + (f.rate * used) / (std::sqrt(u) * f.root + f.epsilon), first, second, largest};
}

}  // namespace
}  // namespace fedbench::optimising
