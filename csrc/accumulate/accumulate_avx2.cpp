// Compiled with -mavx2 -mfma; called only where the machine has both.
#include <immintrin.h>

#include <cmath>

#include "lanes.hpp"

namespace fedbench::lanes {

namespace {

struct Sums {
    __m256d low, high;  // lanes 0-3, 4-7
};

struct Common {
    static Sums zero_sums() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
    static void spill(const Sums& sums, double (&lane)[kLanes]) {
        _mm256_storeu_pd(lane, sums.low);
        _mm256_storeu_pd(lane + 4, sums.high);
    }
    static void fence() { _mm_sfence(); }
    template <typename T>
    static T fma1(T a, T b, T c) {
        return std::fma(a, b, c);
    }
};

struct FloatOps : Common {
    static __m256 zero() { return _mm256_setzero_ps(); }
    static __m256 broadcast(float w) { return _mm256_set1_ps(w); }
    static __m256 load(const float* p) { return _mm256_loadu_ps(p); }
    static void store(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
    static void store_past(float* p, __m256 v) {
        _mm_stream_ps(p, _mm256_castps256_ps128(v));
        _mm_stream_ps(p + 4, _mm256_extractf128_ps(v, 1));
    }
    static __m256 sub(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
    static __m256 fma(__m256 w, __m256 v, __m256 total) { return _mm256_fmadd_ps(w, v, total); }
    static Sums add_products(Sums s, __m256 a, __m256 b) {
        const auto low = [](__m256 v) { return _mm256_cvtps_pd(_mm256_castps256_ps128(v)); };
        const auto high = [](__m256 v) { return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)); };
        return {_mm256_fmadd_pd(low(a), low(b), s.low), _mm256_fmadd_pd(high(a), high(b), s.high)};
    }
};

struct Doubles {
    __m256d low, high;
};

struct DoubleOps : Common {
    static Doubles zero() { return {_mm256_setzero_pd(), _mm256_setzero_pd()}; }
    static __m256d broadcast(double w) { return _mm256_set1_pd(w); }
    static Doubles load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
    static void store(double* p, Doubles v) {
        _mm256_storeu_pd(p, v.low);
        _mm256_storeu_pd(p + 4, v.high);
    }
    static void store_past(double* p, Doubles v) {
        _mm_stream_pd(p, _mm256_castpd256_pd128(v.low));
        _mm_stream_pd(p + 2, _mm256_extractf128_pd(v.low, 1));
        _mm_stream_pd(p + 4, _mm256_castpd256_pd128(v.high));
        _mm_stream_pd(p + 6, _mm256_extractf128_pd(v.high, 1));
    }
    static Doubles sub(Doubles a, Doubles b) { return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)}; }
    static Doubles fma(__m256d w, Doubles v, Doubles total) {
        return {_mm256_fmadd_pd(w, v.low, total.low), _mm256_fmadd_pd(w, v.high, total.high)};
    }
    static Sums add_products(Sums s, Doubles a, Doubles b) {
        return {_mm256_fmadd_pd(a.low, b.low, s.low), _mm256_fmadd_pd(a.high, b.high, s.high)};
    }
};

}  // namespace

template <>
double weighted_sum_avx2<float>(std::span<const double> weights, std::span<const float* const> vectors, std::span<float> out,
                                std::size_t from) {
    return weighted_sum<float, FloatOps>(weights, vectors, out, from);
}
template <>
double weighted_sum_avx2<double>(std::span<const double> weights, std::span<const double* const> vectors, std::span<double> out,
                                 std::size_t from) {
    return weighted_sum<double, DoubleOps>(weights, vectors, out, from);
}
template <>
Movement movement_avx2<float>(std::span<const float> x, std::span<const float> base, std::span<const float> delta) {
    return movement<float, FloatOps>(x, base, delta);
}
template <>
Movement movement_avx2<double>(std::span<const double> x, std::span<const double> base, std::span<const double> delta) {
    return movement<double, DoubleOps>(x, base, delta);
}
template <>
double dot_avx2<float>(std::span<const float> a, std::span<const float> b) {
    return dot<float, FloatOps>(a, b);
}
template <>
double dot_avx2<double>(std::span<const double> a, std::span<const double> b) {
    return dot<double, DoubleOps>(a, b);
}

}  // namespace fedbench::lanes
