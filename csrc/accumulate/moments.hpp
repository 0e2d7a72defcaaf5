// The loops behind optimise.hpp, plain ones that the compiler vectorises for what the file is compiled for; without fma the bits do
// not depend on it. Unnamed namespace on purpose: files for different instruction sets must not be merged.
#pragma once

#include <cmath>
#include <cstddef>

namespace fedbench::optimising {

/// The rule's numbers, rounded once to the vectors' type.
template <typename Real>
struct Factors {
    Real beta1, rest1, beta2, rest2, scale, rate, root, epsilon;  // scale of g; +-rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t)
};

enum class Maximum { none, kept, used };
enum class Momentum { now, ahead };

template <typename Real>
struct Step {
    Real *x, *m, *v, *vhat;
    const Real* g;
    std::size_t d;
    Maximum maximum;
    Momentum momentum = Momentum::now;
};

template <typename Real>
void sgd_avx2(Real* x, const Real* g, std::size_t d, Real scale, Real rate);
template <typename Real>
void adaptive_avx2(const Step<Real>& step, const Factors<Real>& factors);

namespace {

template <typename Real>
void sgd(Real* __restrict x, const Real* __restrict g, std::size_t d, Real scale, Real rate) {
    for (std::size_t i = 0; i < d; ++i) x[i] = x[i] - rate * (scale * g[i]);
}

template <typename Real, Maximum maximum, Momentum momentum>
void adaptive_loop(const Step<Real>& step, Factors<Real> f) {
    Real* __restrict x = step.x, * __restrict m = step.m, * __restrict v = step.v, * __restrict vhat = step.vhat;
    const Real* __restrict g = step.g;
    for (std::size_t i = 0; i < step.d; ++i) {
        const Real direction = f.scale * g[i];
        const Real first = f.beta1 * m[i] + f.rest1 * direction;
        const Real second = f.beta2 * v[i] + f.rest2 * direction * direction;
        Real u = second;
        if constexpr (maximum != Maximum::none) {
            const Real largest = second <= vhat[i] ? vhat[i] : second;
            vhat[i] = largest;
            if constexpr (maximum == Maximum::used) u = largest;
        }
        m[i] = first;
        v[i] = second;
        const Real used = momentum == Momentum::now ? first : f.beta1 * first + f.rest1 * direction;
        x[i] = x[i] + (f.rate * used) / (std::sqrt(u) * f.root + f.epsilon);
    }
}

template <typename Real, Momentum momentum>
void adaptive_with(const Step<Real>& step, const Factors<Real>& factors) {
    if (step.maximum == Maximum::none) return adaptive_loop<Real, Maximum::none, momentum>(step, factors);
    if (step.maximum == Maximum::kept) return adaptive_loop<Real, Maximum::kept, momentum>(step, factors);
    adaptive_loop<Real, Maximum::used, momentum>(step, factors);
}

template <typename Real>
void adaptive(const Step<Real>& step, const Factors<Real>& factors) {
    if (step.momentum == Momentum::now) return adaptive_with<Real, Momentum::now>(step, factors);
    adaptive_with<Real, Momentum::ahead>(step, factors);
}

}  // namespace
}  // namespace fedbench::optimising
