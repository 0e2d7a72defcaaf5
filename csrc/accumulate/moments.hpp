// The loops behind optimise.hpp: plain ones, which the compiler vectorises for the instruction set
// of the including file. They have no fma, so the bits do not depend on it. The namespace is
// unnamed on purpose: code for different instruction sets must not be merged.
#pragma once

#include "../simd/prefetch.hpp"
#include "rule.hpp"

namespace fedbench::optimising {
namespace {

template <typename Real>
void sgd(Real* __restrict x, const Real* __restrict g, std::size_t d, Real scale, Real rate) {
    constexpr std::size_t line = 64 / sizeof(Real);
    std::size_t i = 0;
    for (; i + line <= d; i += line) {
        fetch_ahead(x + i), fetch_ahead(g + i);
        for (std::size_t j = i; j < i + line; ++j) x[j] = descended(x[j], g[j], scale, rate);
    }
    for (; i < d; ++i) x[i] = descended(x[i], g[i], scale, rate);
}

template <typename Real, Maximum maximum, Momentum momentum>
void adaptive_loop(const Step<Real>& step, Factors<Real> f) {
    Real* __restrict x = step.x, * __restrict m = step.m, * __restrict v = step.v, * __restrict vhat = step.vhat;
    const Real* __restrict g = step.g;
    const auto advance = [&](std::size_t i) __attribute__((always_inline)) {
        const auto next = adapted<maximum, momentum>({x[i], m[i], v[i], maximum == Maximum::none ? Real{} : vhat[i]}, g[i], f);
        x[i] = next.x;
        m[i] = next.m;
        v[i] = next.v;
        if constexpr (maximum != Maximum::none) vhat[i] = next.vhat;
    };
    constexpr std::size_t line = 64 / sizeof(Real);
    std::size_t i = 0;
    for (; i + line <= step.d; i += line) {
        fetch_ahead(x + i), fetch_ahead(m + i), fetch_ahead(v + i), fetch_ahead(g + i);
        if constexpr (maximum != Maximum::none) fetch_ahead(vhat + i);
        for (std::size_t j = 0; j < line; ++j) advance(i + j);
    }
    for (; i < step.d; ++i) advance(i);
}

/// Calls body(maximum, momentum) with both as types, so that the body's loop or kernel has no
/// branches.
template <typename Real, typename Body>
void with_kind_of(const Step<Real>& step, const Body& body) {
    const auto with = [&]<Maximum maximum>(std::integral_constant<Maximum, maximum> constant) {
        if (step.momentum == Momentum::now) return body(constant, std::integral_constant<Momentum, Momentum::now>{});
        body(constant, std::integral_constant<Momentum, Momentum::ahead>{});
    };
    if (step.maximum == Maximum::none) return with(std::integral_constant<Maximum, Maximum::none>{});
    if (step.maximum == Maximum::kept) return with(std::integral_constant<Maximum, Maximum::kept>{});
    with(std::integral_constant<Maximum, Maximum::used>{});
}

template <typename Real>
void adaptive(const Step<Real>& step, const Factors<Real>& factors) {
    with_kind_of(step, [&](auto maximum, auto momentum) { adaptive_loop<Real, maximum(), momentum()>(step, factors); });
}

}  // namespace
}  // namespace fedbench::optimising
