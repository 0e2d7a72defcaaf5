// 64 bytes of floats or doubles as one value: one register with AVX-512, two with AVX2, four elsewhere. Every operation is
// elementwise and correctly rounded (an fma is one rounding everywhere), so the bits do not depend on the registers.
// Unnamed namespace on purpose: every file that includes this has its own instruction set, and they must not be merged.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "elementary.hpp"

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace fedbench::distillation {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kRegisterBytes = 32;
#else
inline constexpr std::size_t kRegisterBytes = 16;
#endif

template <typename Real>
struct Register;

template <>
struct Register<float> {
    typedef float V __attribute__((vector_size(kRegisterBytes)));
    typedef std::uint32_t Bits __attribute__((vector_size(kRegisterBytes)));
};

template <>
struct Register<double> {
    typedef double V __attribute__((vector_size(kRegisterBytes)));
    typedef std::uint64_t Bits __attribute__((vector_size(kRegisterBytes)));
};

template <typename Real>
struct Pack {
    using V = typename Register<Real>::V;
    static constexpr std::size_t width = 64 / sizeof(Real), parts = 64 / kRegisterBytes;

    V part[parts];

    Real operator[](std::size_t j) const { return part[j / (width / parts)][j % (width / parts)]; }
};

/// body(i) for every register i. Not a loop: only arrays with constant indices become registers.
template <typename Real, typename Body>
[[gnu::always_inline]] inline void for_registers(const Body& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        (body(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::make_index_sequence<Pack<Real>::parts>{});
}

/// f of every register of the packs.
template <typename Real, typename F, typename... Packs>
[[gnu::always_inline]] inline Pack<Real> each(const F& f, const Pack<Real>& first, const Packs&... rest) {
    Pack<Real> result;
    for_registers<Real>([&](auto i) __attribute__((always_inline)) { result.part[i] = f(first.part[i], rest.part[i]...); });
    return result;
}

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> broadcast(Real value) {
    Pack<Real> result;
    for_registers<Real>([&](auto i) __attribute__((always_inline)) {
        result.part[i] = typename Pack<Real>::V{} + value;  // -0 becomes 0: nobody can tell
    });
    return result;
}

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> load(const Real* p) {
    Pack<Real> result;
    for_registers<Real>([&](auto i) __attribute__((always_inline)) {
        std::memcpy(&result.part[i], p + i * (Pack<Real>::width / Pack<Real>::parts), kRegisterBytes);
    });
    return result;
}

template <typename Real>
[[gnu::always_inline]] inline void store(Real* p, const Pack<Real>& pack) {
    for_registers<Real>([&](auto i) __attribute__((always_inline)) {
        std::memcpy(p + i * (Pack<Real>::width / Pack<Real>::parts), &pack.part[i], kRegisterBytes);
    });
}

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> operator+(const Pack<Real>& a, const Pack<Real>& b) {
    return each([](auto x, auto y) { return x + y; }, a, b);
}
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> operator-(const Pack<Real>& a, const Pack<Real>& b) {
    return each([](auto x, auto y) { return x - y; }, a, b);
}
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> operator*(const Pack<Real>& a, const Pack<Real>& b) {
    return each([](auto x, auto y) { return x * y; }, a, b);
}
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> operator/(const Pack<Real>& a, const Pack<Real>& b) {
    return each([](auto x, auto y) { return x / y; }, a, b);
}

/// a > b ? yes : no
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> where_greater(const Pack<Real>& a, const Pack<Real>& b, const Pack<Real>& yes,
                                                       const Pack<Real>& no) {
    return each([](auto x, auto y, auto u, auto v) { return x > y ? u : v; }, a, b, yes, no);
}

template <typename Real>
[[gnu::always_inline]] inline Pack<Real> larger(const Pack<Real>& a, const Pack<Real>& b) {
    return each([](auto x, auto y) { return x > y ? x : y; }, a, b);
}

#if defined(__AVX512F__)
[[gnu::always_inline]] inline unsigned equal_in(Register<float>::V a, Register<float>::V b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
[[gnu::always_inline]] inline unsigned equal_in(Register<double>::V a, Register<double>::V b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}
#elif defined(__FMA__)
[[gnu::always_inline]] inline unsigned equal_in(Register<float>::V a, Register<float>::V b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
}
[[gnu::always_inline]] inline unsigned equal_in(Register<double>::V a, Register<double>::V b) {
    return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)));
}
#else
template <typename V>
[[gnu::always_inline]] inline unsigned equal_in(V a, V b) {
    unsigned lanes = 0;
    for (std::size_t j = 0; j < kRegisterBytes / sizeof a[0]; ++j) lanes |= static_cast<unsigned>(a[j] == b[j]) << j;
    return lanes;
}
#endif

/// Bit j is set if lane j of a equals lane j of b.
template <typename Real>
[[gnu::always_inline]] inline unsigned equal_lanes(const Pack<Real>& a, const Pack<Real>& b) {
    unsigned lanes = 0;
    for_registers<Real>([&](auto i) __attribute__((always_inline)) {
        lanes |= equal_in(a.part[i], b.part[i]) << (i * (Pack<Real>::width / Pack<Real>::parts));
    });
    return lanes;
}

#if defined(__AVX512F__)
[[gnu::always_inline]] inline Register<float>::V fma_of(Register<float>::V a, Register<float>::V b, Register<float>::V c) {
    return _mm512_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline Register<double>::V fma_of(Register<double>::V a, Register<double>::V b, Register<double>::V c) {
    return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__FMA__)
[[gnu::always_inline]] inline Register<float>::V fma_of(Register<float>::V a, Register<float>::V b, Register<float>::V c) {
    return _mm256_fmadd_ps(a, b, c);
}
[[gnu::always_inline]] inline Register<double>::V fma_of(Register<double>::V a, Register<double>::V b, Register<double>::V c) {
    return _mm256_fmadd_pd(a, b, c);
}
#else
template <typename V>
[[gnu::always_inline]] inline V fma_of(V a, V b, V c) {
    V result{};
    for (std::size_t j = 0; j < kRegisterBytes / sizeof a[0]; ++j) result[j] = std::fma(a[j], b[j], c[j]);
    return result;
}
#endif

/// a b + c with one rounding.
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> fma(const Pack<Real>& a, const Pack<Real>& b, const Pack<Real>& c) {
    return each([](auto x, auto y, auto z) { return fma_of(x, y, z); }, a, b, c);
}

template <typename Real>
struct Value<Pack<Real>> {
    using Element = Real;
    [[gnu::always_inline]] static Pack<Real> of(Real x) { return broadcast(x); }
};

[[gnu::always_inline]] inline Pack<float> times_power(const Pack<float>& x, const Pack<float>& shifted) {
    return each([](auto a, auto s) { return times_power<23, Register<float>::Bits>(a, s); }, x, shifted);
}
[[gnu::always_inline]] inline Pack<double> times_power(const Pack<double>& x, const Pack<double>& shifted) {
    return each([](auto a, auto s) { return times_power<52, Register<double>::Bits>(a, s); }, x, shifted);
}

[[gnu::always_inline]] inline Pack<double> log_positive(const Pack<double>& x) {
    return each([](auto v) { return log_of<Register<double>::Bits>(v); }, x);
}

/// Lanes first, first + 1, .. of the pack; 0 before them.
template <typename Real>
[[gnu::always_inline]] inline Pack<Real> from_lane(std::size_t first, const Pack<Real>& pack) {
    Real lane[Pack<Real>::width];
    for (std::size_t j = 0; j < Pack<Real>::width; ++j) lane[j] = static_cast<Real>(j);
    return where_greater(load(lane), broadcast(static_cast<Real>(first) - Real{0.5}), pack, broadcast(Real{0}));
}

/// total += pack in float64: floats take two packs of doubles, lanes 0-7 and 8-15.
[[gnu::always_inline]] inline void add_widened(Pack<double> (&total)[2], const Pack<float>& pack) {
    typedef float Half __attribute__((vector_size(kRegisterBytes / 2)));
    constexpr std::size_t parts = Pack<float>::parts, count = kRegisterBytes / sizeof(double);
    for_registers<float>([&](auto i) __attribute__((always_inline)) {
        const auto halves = std::bit_cast<std::array<Half, 2>>(pack.part[i]);
        static_assert(sizeof(Half) / sizeof(float) == count);
        constexpr std::size_t first = 2 * i, second = 2 * i + 1;
        total[first / parts].part[first % parts] += __builtin_convertvector(halves[0], Register<double>::V);
        total[second / parts].part[second % parts] += __builtin_convertvector(halves[1], Register<double>::V);
    });
}
[[gnu::always_inline]] inline void add_widened(Pack<double> (&total)[1], const Pack<double>& pack) { total[0] = total[0] + pack; }

/// Lane j + lane j + 4, of these j + 2, of these j + 1.
[[gnu::always_inline]] inline double sum_of_lanes(const Pack<double>& pack) {
    double lane[8];
    store(lane, pack);
    for (std::size_t j = 0; j < 4; ++j) lane[j] += lane[j + 4];
    for (std::size_t j = 0; j < 2; ++j) lane[j] += lane[j + 2];
    return lane[0] + lane[1];
}

}  // namespace
}  // namespace fedbench::distillation
