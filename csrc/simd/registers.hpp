// Vectors of floats or doubles, as registers hold them: for training, distillation and sums over
// model vectors.
//
// Every operation is elementwise and correctly rounded (an fma is one rounding everywhere), so bits
// do not depend on registers. The vectors are GCC's: + - * / and comparisons are operators, and a
// vector larger than a register takes several. The namespace is unnamed on purpose: every file that
// includes this is compiled for its own instruction set, and their code must not be merged.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace fedbench::simd {
namespace {

/// Bytes of a register.
#if defined(__AVX512F__)
inline constexpr std::size_t kBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t kBytes = 32;
#else
inline constexpr std::size_t kBytes = 16;
#endif

template <typename Number, std::size_t bytes>
struct VectorOf {
    typedef Number type __attribute__((vector_size(bytes)));
};
/// A vector of so many bytes of numbers.
template <typename Number, std::size_t bytes>
using Vector = typename VectorOf<Number, bytes>::type;

/// The type of a vector's numbers, and how many it has.
template <typename V>
using Element = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
template <typename V>
inline constexpr std::size_t kCount = sizeof(V) / sizeof(Element<V>);

template <typename V, typename Real, std::size_t bytes>
concept Is = std::same_as<Element<V>, Real> && sizeof(V) == bytes;

template <typename V>
[[gnu::always_inline]] inline V broadcast(Element<V> value) {
    return [&]<std::size_t... j>(std::index_sequence<j...>) __attribute__((always_inline)) { return V{(static_cast<void>(j), value)...}; }
    (std::make_index_sequence<kCount<V>>{});
}

template <typename V>
[[gnu::always_inline]] inline V load(const Element<V>* p) {
    V x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

template <typename V>
[[gnu::always_inline]] inline void store(Element<V>* p, V x) {
    std::memcpy(p, &x, sizeof x);
}

/// Keeps the compiler from loading x, a vector of one register, again wherever it is used: a
/// processor loads two registers while it multiplies two.
template <typename V>
[[gnu::always_inline]] inline void pin(V& x) {
#if defined(__AVX512F__)
    asm("" : "+v"(x));
#elif defined(__AVX2__)
    asm("" : "+x"(x));
#else
    (void)x;
#endif
}

// ---- multiply and add ----

template <typename V>
concept IsVector = !std::is_class_v<V> && !std::is_arithmetic_v<V>;

/// Returns a b + c with one rounding.
template <std::floating_point Real>
[[gnu::always_inline]] inline Real fma(Real a, Real b, Real c) {
    return std::fma(a, b, c);
}
template <IsVector V>
[[gnu::always_inline]] inline V fma(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (Is<V, float, 64>) return _mm512_fmadd_ps(a, b, c);
    else if constexpr (Is<V, double, 64>) return _mm512_fmadd_pd(a, b, c);
    else
#endif
#if defined(__FMA__)
        if constexpr (Is<V, float, 32>)
        return _mm256_fmadd_ps(a, b, c);
    else if constexpr (Is<V, double, 32>) return _mm256_fmadd_pd(a, b, c);
    else
#elif defined(__aarch64__)
    if constexpr (Is<V, float, 16>) return vfmaq_f32(c, a, b);
    else if constexpr (Is<V, double, 16>) return vfmaq_f64(c, a, b);
    else if constexpr (sizeof(V) == 32) {
        using Halves = std::array<Vector<Element<V>, 16>, 2>;
        const auto x = std::bit_cast<Halves>(a), y = std::bit_cast<Halves>(b), z = std::bit_cast<Halves>(c);
        return std::bit_cast<V>(Halves{fma(x[0], y[0], z[0]), fma(x[1], y[1], z[1])});
    } else
#endif
    {
        V result{};
        for (std::size_t j = 0; j < kCount<V>; ++j) result[j] = std::fma(a[j], b[j], c[j]);
        return result;
    }
}

// ---- a part of a vector ----

/// The first `count` numbers of a vector: what is behind them in memory is neither read nor
/// written, and they are read as 0.
struct Lanes {
#if defined(__AVX512F__)
    unsigned mask;
    explicit Lanes(std::size_t count) : mask(count >= 16 ? 0xFFFFu : (1u << count) - 1) {}
#else
    std::size_t count;
    explicit Lanes(std::size_t n) : count(n) {}
    template <typename V>
    std::size_t of() const {
        return count < kCount<V> ? count : kCount<V>;
    }
#endif
};

#if defined(__AVX512F__)
template <typename V>
[[gnu::always_inline]] inline V load(const Element<V>* p, Lanes lanes) {
    if constexpr (Is<V, float, 64>) return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes.mask), p);
    else if constexpr (Is<V, double, 64>) return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), p);
    else if constexpr (Is<V, float, 32>) return _mm256_maskz_loadu_ps(static_cast<__mmask8>(lanes.mask), p);
    else return _mm256_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask & 0xF), p);
}
template <typename V>
[[gnu::always_inline]] inline void store(Element<V>* p, V x, Lanes lanes) {
    if constexpr (Is<V, float, 64>) _mm512_mask_storeu_ps(p, static_cast<__mmask16>(lanes.mask), x);
    else _mm512_mask_storeu_pd(p, static_cast<__mmask8>(lanes.mask), x);
}
#elif defined(__AVX2__)
alignas(64) inline constexpr std::int32_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
alignas(64) inline constexpr std::int64_t kLongOnes[8] = {-1, -1, -1, -1};
template <typename V>
[[gnu::always_inline]] inline __m256i mask_of(Lanes lanes) {
    const std::size_t skipped = kCount<V> - lanes.of<V>();
    if constexpr (sizeof(Element<V>) == 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + skipped));
    else return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLongOnes + skipped));
}
template <typename V>
[[gnu::always_inline]] inline V load(const Element<V>* p, Lanes lanes) {
    if constexpr (Is<V, float, 32>) return _mm256_maskload_ps(p, mask_of<V>(lanes));
    else return _mm256_maskload_pd(p, mask_of<V>(lanes));
}
template <typename V>
[[gnu::always_inline]] inline void store(Element<V>* p, V x, Lanes lanes) {
    if constexpr (Is<V, float, 32>) _mm256_maskstore_ps(p, mask_of<V>(lanes), x);
    else _mm256_maskstore_pd(p, mask_of<V>(lanes), x);
}
#else
template <typename V>
[[gnu::always_inline]] inline V load(const Element<V>* p, Lanes lanes) {
    V x{};
    std::memcpy(&x, p, lanes.of<V>() * sizeof x[0]);
    return x;
}
template <typename V>
[[gnu::always_inline]] inline void store(Element<V>* p, V x, Lanes lanes) {
    std::memcpy(p, &x, lanes.of<V>() * sizeof x[0]);
}
#endif

/// Returns a number whose bit j is set if number j of a equals number j of b.
template <typename V>
[[gnu::always_inline]] inline unsigned equal_lanes(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (Is<V, float, 64>) return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
    else return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
#elif defined(__AVX2__)
    if constexpr (Is<V, float, 32>) return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)));
    else return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_EQ_OQ)));
#else
    unsigned lanes = 0;
    for (std::size_t j = 0; j < kCount<V>; ++j) lanes |= static_cast<unsigned>(a[j] == b[j]) << j;
    return lanes;
#endif
}

// ---- halves ----

#if defined(__AVX512F__)
[[gnu::always_inline]] inline Vector<float, 64> joined(Vector<float, 32> a, Vector<float, 32> b) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}
[[gnu::always_inline]] inline Vector<double, 64> joined(Vector<double, 32> a, Vector<double, 32> b) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(a), b, 1);
}
[[gnu::always_inline]] inline Vector<float, 64> twice(Vector<float, 32> a) { return _mm512_broadcast_f32x8(a); }
[[gnu::always_inline]] inline Vector<double, 64> twice(Vector<double, 32> a) { return _mm512_broadcast_f64x4(a); }
[[gnu::always_inline]] inline Vector<float, 32> half_of(Vector<float, 64> x, std::size_t i) {
    return i == 0 ? _mm512_castps512_ps256(x) : _mm512_extractf32x8_ps(x, 1);
}
[[gnu::always_inline]] inline Vector<double, 32> half_of(Vector<double, 64> x, std::size_t i) {
    return i == 0 ? _mm512_castpd512_pd256(x) : _mm512_extractf64x4_pd(x, 1);
}
#endif

/// Returns the first (i = 0) or the second half of a register of floats, in float64.
using Floats = Vector<float, kBytes>;
using Doubles = Vector<double, kBytes>;
[[gnu::always_inline]] inline Doubles widened_half(Floats x, std::size_t i) {
#if defined(__AVX512F__)
    return _mm512_cvtps_pd(half_of(x, i));
#elif defined(__AVX2__)
    return _mm256_cvtps_pd(i == 0 ? _mm256_castps256_ps128(x) : _mm256_extractf128_ps(x, 1));
#elif defined(__aarch64__)
    return i == 0 ? vcvt_f64_f32(vget_low_f32(x)) : vcvt_high_f64_f32(x);
#else
    return Doubles{static_cast<double>(x[2 * i]), static_cast<double>(x[2 * i + 1])};
#endif
}

// ---- past the caches ----

/// Stores without reading what it overwrites, for results that no cache keeps. `p` is a multiple of
/// 16 bytes. Many such stores are followed by `fence`. Where there is no such instruction, it is an
/// ordinary store.
#if defined(__AVX2__)
inline constexpr bool kCanStorePast = true;
[[gnu::always_inline]] inline void store_past(float* p, Vector<float, 32> x) {
    _mm_stream_ps(p, _mm256_castps256_ps128(x));
    _mm_stream_ps(p + 4, _mm256_extractf128_ps(x, 1));
}
[[gnu::always_inline]] inline void store_past(double* p, Vector<double, 32> x) {
    _mm_stream_pd(p, _mm256_castpd256_pd128(x));
    _mm_stream_pd(p + 2, _mm256_extractf128_pd(x, 1));
}
inline void fence() { _mm_sfence(); }
#else
inline constexpr bool kCanStorePast = false;
template <IsVector V>
[[gnu::always_inline]] inline void store_past(Element<V>* p, V x) {
    store(p, x);
}
inline void fence() {}
#endif

}  // namespace
}  // namespace fedbench::simd
