// Registers of floats or doubles, of which the last in a row may have fewer lanes.
// Unnamed namespace on purpose: every file that includes this has its own instruction set, and they must not be merged.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>

#include <array>
#include <bit>
#endif

namespace fedbench::train {
namespace {

// Registers of kBytes. A tile of results has kTileRows x kTileColumns of them, or kRowRegisters of one row.
#if defined(__AVX512F__)
inline constexpr std::size_t kBytes = 64, kTileRows = 5, kTileColumns = 5, kRowRegisters = 5;  // 25 sums, 5 columns, 1 row: 31 of 32
#elif defined(__AVX2__)
inline constexpr std::size_t kBytes = 32, kTileRows = 4, kTileColumns = 3, kRowRegisters = 10;  // 12 sums, 3 columns, 1 row: all 16
#else
inline constexpr std::size_t kBytes = 32, kTileRows = 2, kTileColumns = 2, kRowRegisters = 5;  // of two registers each: 12 of 16
#endif

// A sum over many numbers is one of kChainBytes' worth of chains, whatever the registers: number i goes to chain i modulo their count,
// and the chains are added by one tree (`sum_of`). A wider register holds the chains of kPairs sums.
inline constexpr std::size_t kChainBytes = 32, kPairs = kBytes / kChainBytes;

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

template <typename Real>
struct ChainsOf;
template <>
struct ChainsOf<float> {
    typedef float V __attribute__((vector_size(kChainBytes)));
};
template <>
struct ChainsOf<double> {
    typedef double V __attribute__((vector_size(kChainBytes)));
};
/// The chains of one sum.
template <typename Real>
using Chains = typename ChainsOf<Real>::V;
template <typename Real>
inline constexpr std::size_t kChains = kChainBytes / sizeof(Real);

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

/// a b + c with one rounding.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline V<float> madd(V<float> a, V<float> b, V<float> c) { return _mm512_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V<double> madd(V<double> a, V<double> b, V<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__)
[[gnu::always_inline]] inline V<float> madd(V<float> a, V<float> b, V<float> c) { return _mm256_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V<double> madd(V<double> a, V<double> b, V<double> c) { return _mm256_fmadd_pd(a, b, c); }
#elif defined(__aarch64__)
[[gnu::always_inline]] inline V<float> madd(V<float> a, V<float> b, V<float> c) {
    using Two = std::array<float32x4_t, 2>;
    const auto x = std::bit_cast<Two>(a), y = std::bit_cast<Two>(b), z = std::bit_cast<Two>(c);
    return std::bit_cast<V<float>>(Two{vfmaq_f32(z[0], x[0], y[0]), vfmaq_f32(z[1], x[1], y[1])});
}
[[gnu::always_inline]] inline V<double> madd(V<double> a, V<double> b, V<double> c) {
    using Two = std::array<float64x2_t, 2>;
    const auto x = std::bit_cast<Two>(a), y = std::bit_cast<Two>(b), z = std::bit_cast<Two>(c);
    return std::bit_cast<V<double>>(Two{vfmaq_f64(z[0], x[0], y[0]), vfmaq_f64(z[1], x[1], y[1])});
}
#else
template <typename R>
requires(!std::floating_point<R>) [[gnu::always_inline]] inline R madd(R a, R b, R c) {
    R result{};
    for (std::size_t j = 0; j < sizeof(R) / sizeof a[0]; ++j) result[j] = std::fma(a[j], b[j], c[j]);
    return result;
}
#endif
template <std::floating_point R>
[[gnu::always_inline]] inline R madd(R a, R b, R c) {
    return std::fma(a, b, c);
}

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

// ---- chains of sums ----

/// The first `count` >= 1 chains; what is behind them is not read, and they are 0.
#if defined(__AVX512F__)
[[gnu::always_inline]] inline Chains<float> load_chains(const float* p, Lanes lanes) {
    return _mm256_maskz_loadu_ps(static_cast<__mmask8>(lanes.mask), p);
}
[[gnu::always_inline]] inline Chains<double> load_chains(const double* p, Lanes lanes) {
    return _mm256_maskz_loadu_pd(static_cast<__mmask8>(lanes.mask & 0xF), p);
}
#else
template <typename Real>
[[gnu::always_inline]] inline Chains<Real> load_chains(const Real* p, Lanes lanes) {
    return load(p, lanes);
}
#endif
template <typename Real>
[[gnu::always_inline]] inline Chains<Real> load_chains(const Real* p) {
    Chains<Real> x;
    std::memcpy(&x, p, kChainBytes);
    return x;
}

#if defined(__AVX512F__)
[[gnu::always_inline]] inline V<float> pair_of(Chains<float> a, Chains<float> b) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1);
}
[[gnu::always_inline]] inline V<double> pair_of(Chains<double> a, Chains<double> b) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(a), b, 1);
}
[[gnu::always_inline]] inline V<float> twice(Chains<float> a) { return _mm512_broadcast_f32x8(a); }
[[gnu::always_inline]] inline V<double> twice(Chains<double> a) { return _mm512_broadcast_f64x4(a); }
[[gnu::always_inline]] inline Chains<float> chains_of(V<float> x, std::size_t pair) {
    return pair == 0 ? _mm512_castps512_ps256(x) : _mm512_extractf32x8_ps(x, 1);
}
[[gnu::always_inline]] inline Chains<double> chains_of(V<double> x, std::size_t pair) {
    return pair == 0 ? _mm512_castpd512_pd256(x) : _mm512_extractf64x4_pd(x, 1);
}
#else
template <typename C>
[[gnu::always_inline]] inline C twice(C a) {
    return a;
}
template <typename C>
[[gnu::always_inline]] inline C chains_of(C x, std::size_t) {
    return x;
}
#endif

/// The sum of the chains: of eight, neighbours are added, then pairs of them, then the two halves; of four, the halves, then neighbours.
[[gnu::always_inline]] inline float sum_of(Chains<float> x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }
[[gnu::always_inline]] inline double sum_of(Chains<double> x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// The sums of four at once, which costs little more than one, in the same order.
#if defined(__AVX2__)
[[gnu::always_inline]] inline void sums_of(Chains<float> a, Chains<float> b, Chains<float> c, Chains<float> d, float* sum) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(sum, _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1)));
}
#else
[[gnu::always_inline]] inline void sums_of(Chains<float> a, Chains<float> b, Chains<float> c, Chains<float> d, float* sum) {
    sum[0] = sum_of(a), sum[1] = sum_of(b), sum[2] = sum_of(c), sum[3] = sum_of(d);
}
#endif
[[gnu::always_inline]] inline void sums_of(Chains<double> a, Chains<double> b, Chains<double> c, Chains<double> d, double* sum) {
    sum[0] = sum_of(a), sum[1] = sum_of(b), sum[2] = sum_of(c), sum[3] = sum_of(d);
}

/// Sums of n chains.
template <std::size_t n, typename Real>
[[gnu::always_inline]] inline void sums_of(const Chains<Real> (&x)[n], Real (&sum)[n]) {
    std::size_t i = 0;
#pragma GCC unroll 8
    for (; i + 4 <= n; i += 4) sums_of(x[i], x[i + 1], x[i + 2], x[i + 3], sum + i);
#pragma GCC unroll 8
    for (; i < n; ++i) sum[i] = sum_of(x[i]);
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
