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

template <typename Kind, typename Real>
void adaptive_loop(const Step<Real>& step, Factors<Real> f) {
    Real* __restrict x = step.x, * __restrict m = step.m, * __restrict v = step.v, * __restrict vhat = step.vhat;
    const Real* __restrict g = step.g;
    constexpr bool has_maximum = Kind::maximum != Maximum::none;
    const auto advance = [&](std::size_t i) __attribute__((always_inline)) {
        const auto next = adapted<Kind>({x[i], m[i], v[i], has_maximum ? vhat[i] : Real{}}, g[i], f);
        x[i] = next.x;
        m[i] = next.m;
        v[i] = next.v;
        if constexpr (has_maximum) vhat[i] = next.vhat;
    };
    constexpr std::size_t line = 64 / sizeof(Real);
    std::size_t i = 0;
    for (; i + line <= step.d; i += line) {
        fetch_ahead(x + i), fetch_ahead(m + i), fetch_ahead(v + i), fetch_ahead(g + i);
        if constexpr (has_maximum) fetch_ahead(vhat + i);
        for (std::size_t j = 0; j < line; ++j) advance(i + j);
    }
    for (; i < step.d; ++i) advance(i);
}

/// Calls body with `value`, which is one of `known`, as a type.
template <auto... known, typename Value, typename Body>
void as_type(Value value, const Body& body) {
    ((value == known ? body(std::integral_constant<Value, known>{}) : void()), ...);
}

/// Calls body with the Kind of the step.
template <typename Real, typename Body>
void with_kind_of(const Step<Real>& step, const Body& body) {
    as_type<Maximum::none, Maximum::kept, Maximum::used>(step.maximum, [&](auto maximum) {
        as_type<Momentum::now, Momentum::ahead>(step.momentum, [&](auto momentum) {
            as_type<Second::adam, Second::yogi, Second::adagrad>(step.second,
                                                                 [&](auto second) { body(Kind<maximum(), momentum(), second()>{}); });
        });
    });
}

template <typename Real>
void adaptive(const Step<Real>& step, const Factors<Real>& factors) {
    with_kind_of(step, [&]<typename Kind>(Kind) { adaptive_loop<Kind>(step, factors); });
}

}  // namespace
}  // namespace fedbench::optimising
