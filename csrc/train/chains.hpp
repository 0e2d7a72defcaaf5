// The registers of a tile, and sums whose bits do not depend on them.
#pragma once

#include <algorithm>

#include "../simd/registers.hpp"

namespace fedbench::train {
namespace {

/// A distance between numbers in memory, which may be negative.
using Step = std::ptrdiff_t;

using simd::broadcast, simd::fma, simd::Lanes, simd::pin, simd::store;

// A tile of results has kTileRows x kTileColumns vectors of kBytes, or kRowRegisters of one row.
#if defined(__AVX512F__)
inline constexpr std::size_t kTileRows = 5, kTileColumns = 5, kRowRegisters = 5;  // 25 sums, 5 columns, 1 row: 31 of 32
#elif defined(__AVX2__)
inline constexpr std::size_t kTileRows = 4, kTileColumns = 3, kRowRegisters = 10;  // 12 sums, 3 columns, 1 row: all 16
#else
inline constexpr std::size_t kTileRows = 2, kTileColumns = 2, kRowRegisters = 5;  // of two registers each: 12 of 16
#endif

// A sum over many numbers is split into chains, kChainBytes' worth of them whatever the registers:
// number i goes to chain i modulo their count, and one tree adds the chains (`sum_of`). A wider
// register holds the chains of kPairs sums.
inline constexpr std::size_t kChainBytes = 32, kBytes = std::max(simd::kBytes, kChainBytes), kPairs = kBytes / kChainBytes;

template <typename Real>
using V = simd::Vector<Real, kBytes>;
template <typename Real>
inline constexpr std::size_t kLanes = kBytes / sizeof(Real);

/// The chains of one sum.
template <typename Real>
using Chains = simd::Vector<Real, kChainBytes>;
template <typename Real>
inline constexpr std::size_t kChains = kChainBytes / sizeof(Real);

template <typename Real>
[[gnu::always_inline]] inline V<Real> all(Real value) {
    return broadcast<V<Real>>(value);
}

/// Loads a vector, or its first `lanes` numbers.
template <typename Real, std::same_as<Lanes>... Part>
[[gnu::always_inline]] inline V<Real> load(const Real* p, Part... lanes) {
    return simd::load<V<Real>>(p, lanes...);
}

/// Loads chains, or the first `lanes` of them.
template <typename Real, std::same_as<Lanes>... Part>
[[gnu::always_inline]] inline Chains<Real> load_chains(const Real* p, Part... lanes) {
    return simd::load<Chains<Real>>(p, lanes...);
}

/// The chains of kPairs sums side by side: joined from two, made of one twice, and split into
/// halves.
#if defined(__AVX512F__)
using simd::half_of, simd::joined, simd::twice;
#else
template <typename C>
[[gnu::always_inline]] inline C twice(C a) {
    return a;
}
template <typename C>
[[gnu::always_inline]] inline C half_of(C x, std::size_t) {
    return x;
}
#endif

/// Returns the sum of the chains. Of eight, neighbours are added, then pairs of them, then the two
/// halves; of four, the halves, then neighbours.
[[gnu::always_inline]] inline float sum_of(Chains<float> x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }
[[gnu::always_inline]] inline double sum_of(Chains<double> x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// Writes the sums of four, added in the same order, at little more than the cost of one.
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

/// Writes n sums.
template <std::size_t n, typename Real>
[[gnu::always_inline]] inline void sums_of(const Chains<Real> (&x)[n], Real (&sum)[n]) {
    std::size_t i = 0;
#pragma GCC unroll 8
    for (; i + 4 <= n; i += 4) sums_of(x[i], x[i + 1], x[i + 2], x[i + 3], sum + i);
#pragma GCC unroll 8
    for (; i < n; ++i) sum[i] = sum_of(x[i]);
}

/// Returns the sum of n contiguous numbers.
template <typename Real>
Real sum_along(const Real* p, std::size_t n) {
    constexpr std::size_t width = kChains<Real>;
    Chains<Real> sum{};
    std::size_t i = 0;
    for (; i + width <= n; i += width) sum += load_chains(p + i);
    if (i < n) sum += load_chains(p + i, Lanes(n - i));
    return sum_of(sum);
}

/// Calls body(begin, size) for the parts of a range of n, which are of nearly equal size, at most
/// `largest`.
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
