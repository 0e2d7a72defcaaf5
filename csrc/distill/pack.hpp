// The packs of distillation, 64 bytes each, and what elementary.hpp needs of them.
#pragma once

#include "../simd/pack.hpp"
#include "elementary.hpp"

namespace fedbench::simd {
namespace {

// Here, and not in `distillation`, because formulas find them by their argument.
template <std::size_t n>
[[gnu::always_inline]] inline Pack<float, n> times_power(const Pack<float, n>& x, const Pack<float, n>& shifted) {
    return each([](auto a, auto s) { return distillation::times_power<23, Vector<std::uint32_t, sizeof a>>(a, s); }, x, shifted);
}
template <std::size_t n>
[[gnu::always_inline]] inline Pack<double, n> times_power(const Pack<double, n>& x, const Pack<double, n>& shifted) {
    return each([](auto a, auto s) { return distillation::times_power<52, Vector<std::uint64_t, sizeof a>>(a, s); }, x, shifted);
}

template <std::size_t n>
[[gnu::always_inline]] inline Pack<double, n> log_positive(const Pack<double, n>& x) {
    return each([](auto v) { return distillation::log_of<Vector<std::uint64_t, sizeof v>>(v); }, x);
}

}  // namespace
}  // namespace fedbench::simd

namespace fedbench::distillation {
namespace {

template <typename Real>
using Pack = simd::Pack<Real, 64 / sizeof(Real)>;

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> broadcast(Real value) {
    return simd::broadcast<Pack<Real>::width>(value);
}

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> load(const Real* p) {
    return simd::load<Pack<Real>::width>(p);
}

template <typename Real, std::size_t n>
struct Value<simd::Pack<Real, n>> {
    using Element = Real;
    [[gnu::always_inline]] static simd::Pack<Real, n> of(Real x) { return simd::broadcast<n>(x); }
};

}  // namespace
}  // namespace fedbench::distillation
