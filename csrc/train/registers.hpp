// Registers of floats or doubles, of which the last in a row may have fewer lanes.
// Unnamed namespace on purpose: every file that includes this has its own instruction set, and they must not be merged.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>

#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace fedbench::train {
namespace {

#if defined(__AVX512F__)
inline constexpr std::size_t kBytes = 64, kTileRows = 5, kTileColumns = 5;  // 25 sums, 5 columns, 1 row: 31 of 32 registers
#elif defined(__AVX2__)
inline constexpr std::size_t kBytes = 32, kTileRows = 5, kTileColumns = 2;  // 13 of 16
#else
inline constexpr std::size_t kBytes = 16, kTileRows = 4, kTileColumns = 2;
#endif

template <typename Real>
struct RegisterOf;
template <>
struct RegisterOf<float> {
    typedef float V __attribute__((vector_size(kBytes)));
};
template <>
struct RegisterOf<double> {
    typedef double V __attribute__((vector_size(kBytes)));
};
template <typename Real>
using V = typename RegisterOf<Real>::V;
template <typename Real>
inline constexpr std::size_t kLanes = kBytes / sizeof(Real);

#if defined(__AVX512F__)
[[gnu::always_inline]] inline V<float> all(float value) { return _mm512_set1_ps(value); }
[[gnu::always_inline]] inline V<double> all(double value) { return _mm512_set1_pd(value); }
#elif defined(__AVX2__)
[[gnu::always_inline]] inline V<float> all(float value) { return _mm256_set1_ps(value); }
[[gnu::always_inline]] inline V<double> all(double value) { return _mm256_set1_pd(value); }
#else
template <typename Real>
[[gnu::always_inline]] inline V<Real> all(Real value) {
    return V<Real>{} + value;
}
#endif

template <typename Real>
[[gnu::always_inline]] inline V<Real> load(const Real* p) {
    V<Real> x;
    std::memcpy(&x, p, kBytes);
    return x;
}

template <typename Real>
[[gnu::always_inline]] inline void store(Real* p, V<Real> x) {
    std::memcpy(p, &x, kBytes);
}

/// Keeps the compiler from loading x again wherever it is used: a processor loads two registers while it multiplies two.
template <typename T>
[[gnu::always_inline]] inline void pin(T& x) {
#if defined(__AVX512F__)
    asm("" : "+v"(x));
#elif defined(__AVX2__)
    asm("" : "+x"(x));
#else
    (void)x;
#endif
}

/// a b + c: one rounding where the instruction set has it, else two.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline V<float> madd(V<float> a, V<float> b, V<float> c) { return _mm512_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V<double> madd(V<double> a, V<double> b, V<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__)
[[gnu::always_inline]] inline V<float> madd(V<float> a, V<float> b, V<float> c) { return _mm256_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V<double> madd(V<double> a, V<double> b, V<double> c) { return _mm256_fmadd_pd(a, b, c); }
#else
template <typename R>
[[gnu::always_inline]] inline R madd(R a, R b, R c) {
    return a * b + c;
}
#endif
#if defined(__FMA__)
template <std::floating_point R>
[[gnu::always_inline]] inline R madd(R a, R b, R c) {
    return std::fma(a, b, c);
}
#endif

/// The first `count` >= 1 lanes of a register; memory behind the others is neither read nor written, and they are read as 0.
#if defined(__AVX512F__)
struct Lanes {
    unsigned mask;
    explicit Lanes(std::size_t count) : mask(count >= 16 ? 0xFFFFu : (1u << count) - 1) {}
};
[[gnu::always_inline]] inline V<float> load(const float* p, Lanes lanes) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes.mask), p);
}
[[gnu::always_inline]] inline V<double> load(const double* p, Lanes lanes) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask), p);
}
[[gnu::always_inline]] inline void store(float* p, V<float> x, Lanes lanes) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>(lanes.mask), x);
}
[[gnu::always_inline]] inline void store(double* p, V<double> x, Lanes lanes) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>(lanes.mask), x);
}
#elif defined(__AVX2__)
struct Lanes {
    std::size_t count;
    explicit Lanes(std::size_t n) : count(n) {}
};
alignas(64) inline constexpr int kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
alignas(64) inline constexpr long long kLongOnes[8] = {-1, -1, -1, -1};
[[gnu::always_inline]] inline __m256i mask_of(const float*, Lanes lanes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + 8 - (lanes.count < 8 ? lanes.count : 8)));
}
[[gnu::always_inline]] inline __m256i mask_of(const double*, Lanes lanes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLongOnes + 4 - (lanes.count < 4 ? lanes.count : 4)));
}
[[gnu::always_inline]] inline V<float> load(const float* p, Lanes lanes) { return _mm256_maskload_ps(p, mask_of(p, lanes)); }
[[gnu::always_inline]] inline V<double> load(const double* p, Lanes lanes) { return _mm256_maskload_pd(p, mask_of(p, lanes)); }
[[gnu::always_inline]] inline void store(float* p, V<float> x, Lanes lanes) { _mm256_maskstore_ps(p, mask_of(p, lanes), x); }
[[gnu::always_inline]] inline void store(double* p, V<double> x, Lanes lanes) { _mm256_maskstore_pd(p, mask_of(p, lanes), x); }
#else
struct Lanes {
    std::size_t count;
    explicit Lanes(std::size_t n) : count(n) {}
};
template <typename Real>
[[gnu::always_inline]] inline V<Real> load(const Real* p, Lanes lanes) {
    V<Real> x{};
    std::memcpy(&x, p, (lanes.count < kLanes<Real> ? lanes.count : kLanes<Real>)*sizeof(Real));
    return x;
}
template <typename Real>
[[gnu::always_inline]] inline void store(Real* p, V<Real> x, Lanes lanes) {
    std::memcpy(p, &x, (lanes.count < kLanes<Real> ? lanes.count : kLanes<Real>)*sizeof(Real));
}
#endif

/// Sum of the lanes: halves are added until one is left.
template <typename Real>
[[gnu::always_inline]] inline Real sum_of(V<Real> x) {
    Real lane[kLanes<Real>];
    store(lane, x);
    for (std::size_t half = kLanes<Real> / 2; half > 0; half /= 2)
        for (std::size_t j = 0; j < half; ++j) lane[j] += lane[j + half];
    return lane[0];
}
#if defined(__AVX2__)
#if defined(__AVX512F__)
[[gnu::always_inline]] inline __m256 half_of(V<float> x) { return _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)); }
#else
[[gnu::always_inline]] inline __m256 half_of(V<float> x) { return x; }
#endif
/// The sums of four registers at once, which costs little more than that of one; all in the same order.
[[gnu::always_inline]] inline __m128 sums_of(V<float> a, V<float> b, V<float> c, V<float> d) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(half_of(a), half_of(b)), _mm256_hadd_ps(half_of(c), half_of(d)));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
}
template <>
[[gnu::always_inline]] inline float sum_of<float>(V<float> x) {
    return _mm_cvtss_f32(sums_of(x, x, x, x));
}
#endif

/// Sums of the lanes of n registers.
template <std::size_t n, typename Real>
[[gnu::always_inline]] inline void sums_of(const V<Real> (&x)[n], Real (&sum)[n]) {
    std::size_t i = 0;
#if defined(__AVX2__)
    if constexpr (std::same_as<Real, float>)
#pragma GCC unroll 8
        for (; i + 4 <= n; i += 4) {
            const __m128 four = sums_of(x[i], x[i + 1], x[i + 2], x[i + 3]);
            std::memcpy(sum + i, &four, sizeof four);
        }
#endif
#pragma GCC unroll 8
    for (; i < n; ++i) sum[i] = sum_of<Real>(x[i]);
}

/// body(begin, size) for a range of n cut into parts of nearly equal size, at most `largest`.
template <typename Body>
[[gnu::always_inline]] inline void in_parts(std::size_t n, std::size_t largest, const Body& body) {
    const std::size_t parts = (n + largest - 1) / largest;
    for (std::size_t part = 0, begin = 0; part < parts; ++part) {
        const std::size_t size = n / parts + (part < n % parts);
        body(begin, size);
        begin += size;
    }
}

}  // namespace
}  // namespace fedbench::train
