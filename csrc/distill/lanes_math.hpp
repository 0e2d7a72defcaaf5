// Vectors of 32 bytes and their elementary functions. GCC and clang lower them to whatever the file is compiled for; only
// IEEE + - * / and integer operations are used, so the bits do not depend on it.
// Unnamed namespace on purpose: every file that includes this has its own instruction set, and they must not be merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fedbench/math.hpp"

namespace fedbench::distillation {
namespace {

template <typename Real>
struct Lanes;

template <>
struct Lanes<float> {
    static constexpr std::size_t width = 8;
    typedef float V __attribute__((vector_size(32)));
    typedef std::uint32_t Bits __attribute__((vector_size(32)));
    typedef std::int32_t Index __attribute__((vector_size(32)));
    static constexpr Index iota{0, 1, 2, 3, 4, 5, 6, 7};
};

template <>
struct Lanes<double> {
    static constexpr std::size_t width = 4;
    typedef double V __attribute__((vector_size(32)));
    typedef std::uint64_t Bits __attribute__((vector_size(32)));
    typedef std::int64_t Index __attribute__((vector_size(32)));
    static constexpr Index iota{0, 1, 2, 3};
};

template <typename Real>
[[gnu::always_inline]] inline typename Lanes<Real>::V load(const Real* p) {
    typename Lanes<Real>::V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <typename V, typename Real>
[[gnu::always_inline]] inline void store(Real* p, V v) {
    std::memcpy(p, &v, sizeof v);
}

template <typename To, typename From>
[[gnu::always_inline]] inline To bits_of(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    std::memcpy(&to, &from, sizeof to);
    return to;
}

/// e^d for d <= 0, at most 1.2e-7 off (relative); 0 below -87.3, where float32 has no normal numbers; NaN stays.
/// d = n ln 2 + r, polynomial of e^r from Cephes; adding 1.5 2^23 rounds to an integer and leaves it in the low bits.
[[gnu::always_inline]] inline Lanes<float>::V exp_negative(Lanes<float>::V d) {
    using L = Lanes<float>;
    const L::V shifted = d * 1.44269504f + 12582912.0f;
    const L::V n = shifted - 12582912.0f;
    const L::V r = (d - n * 0.693359375f) + n * 2.12194440e-4f;
    L::V p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    const L::V power = bits_of<L::V>((bits_of<L::Bits>(shifted) << 23) + (127u << 23));  // 2^n
    return d < -87.3f ? L::V{} : p * power;
}

/// The same in float64: Taylor series to r^13, about 1 ulp; 0 below -708.
[[gnu::always_inline]] inline Lanes<double>::V exp_negative(Lanes<double>::V d) {
    using L = Lanes<double>;
    const L::V shifted = d * kInverseLn2 + 6755399441055744.0;  // 1.5 2^52
    const L::V n = shifted - 6755399441055744.0;
    const L::V r = (d - n * kLn2High) - n * kLn2Low;
    constexpr double inverse_factorial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                            1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5};
    L::V p = L::V{};
    for (double coefficient : inverse_factorial) p = p * r + coefficient;
    p = (p * (r * r) + r) + 1.0;
    const L::V power = bits_of<L::V>((bits_of<L::Bits>(shifted) << 52) + (std::uint64_t{1023} << 52));
    return d < -708.0 ? L::V{} : p * power;
}

/// Natural logarithm of a normal positive number, the bits of portable_log; infinity and NaN stay.
[[gnu::always_inline]] inline Lanes<double>::V log_positive(Lanes<double>::V x) {
    using L = Lanes<double>;
    const L::Bits bits = bits_of<L::Bits>(x);
    L::V mantissa = bits_of<L::V>((bits & 0x000FFFFFFFFFFFFFull) | 0x3FE0000000000000ull);                // [1/2, 1)
    L::V exponent = bits_of<L::V>((bits >> 52) | 0x4330000000000000ull) - (4503599627370496.0 + 1022.0);  // from 2^52 + e
    const auto low = mantissa < 0.70710678118654752440;
    mantissa = low ? mantissa * 2.0 : mantissa;
    exponent = low ? exponent - 1.0 : exponent;
    const L::V s = (mantissa - 1.0) / (mantissa + 1.0);
    const L::V z = s * s;
    L::V series = L::V{};
    for (int odd = 23; odd >= 3; odd -= 2) series = (series + 1.0 / odd) * z;
    const L::V log = exponent * kLn2High + ((s * 2.0 + s * 2.0 * series) + exponent * kLn2Low);
    return x - x == 0.0 ? log : x;
}

}  // namespace
}  // namespace fedbench::distillation
