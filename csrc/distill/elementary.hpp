// Elementary functions of packs; the bits of every element depend on that element only.
#pragma once

#include "fedbench/math.hpp"
#include "pack.hpp"

namespace fedbench::distillation {
namespace {

/// x 2^n, where n + bias are the low bits of `shifted`, a number near 1.5 2^mantissa bits.
template <int mantissa, typename V, typename Bits>
[[gnu::always_inline]] inline V times_power(V x, V shifted, Bits) {
    return x * std::bit_cast<V>(std::bit_cast<Bits>(shifted) << mantissa);
}

/// e^d for d <= 0, at most 1.2e-7 off (relative); 0 below -87.3, where float32 has no normal numbers; NaN stays.
/// d = n ln 2 + r, polynomial of e^r from Cephes; adding 1.5 2^23 + 127 rounds to an integer and leaves n + 127 in the low bits.
[[gnu::always_inline]] inline Pack<float> exp_negative(const Pack<float>& d) {
    const auto of = [](float value) { return broadcast(value); };
    const auto shifted = fma(d, of(1.44269504f), of(12583039.0f));
    const auto n = shifted - of(12583039.0f);
    const auto r = fma(n, of(2.12194440e-4f), fma(n, of(-0.693359375f), d));
    auto p = fma(r, of(1.9875691500e-4f), of(1.3981999507e-3f));
    p = fma(p, r, of(8.3334519073e-3f));
    p = fma(p, r, of(4.1665795894e-2f));
    p = fma(p, r, of(1.6666665459e-1f));
    p = fma(p, r, of(5.0000001201e-1f));
    p = fma(p, r * r, r) + of(1.0f);
    const auto e = each([](auto x, auto s) { return times_power<23>(x, s, Register<float>::Bits{}); }, p, shifted);
    return where_greater(of(-87.3f), d, of(0.0f), e);
}

/// The same in float64: Taylor series to r^13, about 1 ulp; 0 below -708.
[[gnu::always_inline]] inline Pack<double> exp_negative(const Pack<double>& d) {
    const auto of = [](double value) { return broadcast(value); };
    constexpr double magic = 6755399441055744.0 + 1023;  // 1.5 2^52
    const auto shifted = fma(d, of(kInverseLn2), of(magic));
    const auto n = shifted - of(magic);
    const auto r = fma(n, of(-kLn2Low), fma(n, of(-kLn2High), d));
    constexpr double inverse_factorial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                            1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    auto p = of(0.0);
    for (double coefficient : inverse_factorial) p = fma(p, r, of(coefficient));
    p = fma(p, r * r, r) + of(1.0);
    const auto e = each([](auto x, auto s) { return times_power<52>(x, s, Register<double>::Bits{}); }, p, shifted);
    return where_greater(of(-708.0), d, of(0.0), e);
}

/// Natural logarithm of normal positive numbers, the bits of portable_log; infinity and NaN stay.
[[gnu::always_inline]] inline Pack<double> log_positive(const Pack<double>& x) {
    using V = Register<double>::V;
    using Bits = Register<double>::Bits;
    return each(
        [](V v) {
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
        },
        x);
}

}  // namespace
}  // namespace fedbench::distillation
