// Elementary functions of packs and of single numbers. The bits of an element depend on no other
// element.
//
// A formula is written once, over V: float, double, or a Pack of either. Besides the operators it
// needs fma, where_greater, times_power and of<V>; they are below for numbers and in pack.hpp for
// packs. A GPU's thread works on numbers (constexpr is also compiled for the device, see
// accumulate/rule.hpp), so its exponentials and logarithms have the CPU's bits. The namespace is
// unnamed on purpose: see ../simd/registers.hpp.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "fedbench/detail/math.hpp"

namespace fedbench::distillation {
namespace {

template <typename V>
struct Value;  // Element: what V consists of; of(x): V with every element x

template <std::floating_point Real>
struct Value<Real> {
    using Element = Real;
    static constexpr Real of(Real x) { return x; }
};

template <typename V>
concept OfFloats = std::same_as < typename Value<V>::Element,
float > ;
template <typename V>
concept OfDoubles = std::same_as < typename Value<V>::Element,
double > ;

template <typename V>
[[gnu::always_inline]] constexpr V of(typename Value<V>::Element x) {
    return Value<V>::of(x);
}

/// Returns a b + c with one rounding.
template <std::floating_point Real>
constexpr Real fma(Real a, Real b, Real c) {
    return std::fma(a, b, c);
}

/// a > b ? yes : no
template <std::floating_point Real>
constexpr Real where_greater(Real a, Real b, Real yes, Real no) {
    return a > b ? yes : no;
}

/// Returns x 2^n, where n + bias are the low bits of `shifted`, a number near 1.5 2^mantissa bits.
/// V may be a register.
template <int mantissa, typename Bits, typename V>
[[gnu::always_inline]] constexpr V times_power(V x, V shifted) {
    return x * std::bit_cast<V>(std::bit_cast<Bits>(shifted) << mantissa);
}
constexpr float times_power(float x, float shifted) { return times_power<23, std::uint32_t>(x, shifted); }
constexpr double times_power(double x, double shifted) { return times_power<52, std::uint64_t>(x, shifted); }

/// Returns e^d for d <= 0, with a relative error of at most 1.2e-7. It is 0 below -87.3, where
/// float32 has no normal numbers; NaN stays. d = n ln 2 + r, e^r = 1 + r + r^2 p(r) with the
/// minimax p of degree 4, whose error is 3e-9. Adding 1.5 2^23 + 127 rounds to an integer and
/// leaves n + 127 in the low bits.
template <OfFloats V>
[[gnu::always_inline]] constexpr V exp_negative(const V& d) {
    const V shifted = fma(d, of<V>(1.44269504f), of<V>(12583039.0f));
    const V n = shifted - of<V>(12583039.0f);
    const V r = fma(n, of<V>(2.12194440e-4f), fma(n, of<V>(-0.693359375f), d));
    V p = fma(r, of<V>(1.38209283e-3f), of<V>(8.36867001e-3f));
    p = fma(p, r, of<V>(4.16682623e-2f));
    p = fma(p, r, of<V>(1.66665211e-1f));
    p = fma(p, r, of<V>(4.99999940e-1f));
    p = fma(p, r * r, r) + of<V>(1.0f);
    return where_greater(of<V>(-87.3f), d, of<V>(0.0f), times_power(p, shifted));
}

/// Returns e^d in float64, from a Taylor series to r^13, to about 1 ulp; 0 below -708.
template <OfDoubles V>
[[gnu::always_inline]] constexpr V exp_negative(const V& d) {
    constexpr double magic = 6755399441055744.0 + 1023;  // 1.5 2^52
    const V shifted = fma(d, of<V>(kInverseLn2), of<V>(magic));
    const V n = shifted - of<V>(magic);
    const V r = fma(n, of<V>(-kLn2Low), fma(n, of<V>(-kLn2High), d));
    constexpr double inverse_factorial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                            1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    V p = of<V>(0.0);
    for (double coefficient : inverse_factorial) p = fma(p, r, of<V>(coefficient));
    p = fma(p, r * r, r) + of<V>(1.0);
    return where_greater(of<V>(-708.0), d, of<V>(0.0), times_power(p, shifted));
}

/// Returns the natural logarithm of normal positive numbers, with the bits of portable_log;
/// infinity and NaN stay. V is double or a register of them.
template <typename Bits, typename V>
[[gnu::always_inline]] constexpr V log_of(V v) {
    const Bits bits = std::bit_cast<Bits>(v);
    V mantissa = std::bit_cast<V>((bits & 0x000FFFFFFFFFFFFFull) | 0x3FE0000000000000ull);                // [1/2, 1)
    V exponent = std::bit_cast<V>((bits >> 52) | 0x4330000000000000ull) - (4503599627370496.0 + 1022.0);  // from 2^52 + e
    const auto low = mantissa < 0.70710678118654752440;
    mantissa = low ? mantissa * 2.0 : mantissa;
    exponent = low ? exponent - 1.0 : exponent;
    const V s = (mantissa - 1.0) / (mantissa + 1.0);
    const V z = s * s;
    V series = V{};
    for (int odd = 23; odd >= 3; odd -= 2) series = (series + 1.0 / odd) * z;
    const V log = exponent * kLn2High + ((s * 2.0 + s * 2.0 * series) + exponent * kLn2Low);
    return v - v == 0.0 ? log : v;
}
constexpr double log_positive(double x) { return log_of<std::uint64_t>(x); }

}  // namespace
}  // namespace fedbench::distillation
