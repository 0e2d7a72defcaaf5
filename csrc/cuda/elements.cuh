// Kernels in which every thread takes a few elements: four floats or two doubles, which are read
// and written together where all vectors begin at a multiple of 16 bytes.
#pragma once

#include <initializer_list>
#include <span>

#include "../accumulate/cached.hpp"
#include "../accumulate/rule.hpp"
#include "fedbench/cache.hpp"
#include "lists.cuh"

namespace fedbench::cuda {

/// Bytes of an access, and how many elements they are.
inline constexpr std::size_t kAccess = 16;
template <typename Real>
inline constexpr std::size_t kNeighbours = kAccess / sizeof(Real);

/// n neighbouring elements, which are read and written at once; unless n is 1, they are aligned.
template <typename Real, std::size_t n>
struct [[gnu::may_alias]] alignas(n == 1 ? sizeof(Real) : kAccess) Few {
    Real of[n];
};

template <std::size_t n, typename Real>
__device__ Few<Real, n> load(const Real* from) {
    return *reinterpret_cast<const Few<Real, n>*>(from);
}

/// The intrinsic is an ordinary store, which nvcc does not take apart.
template <std::size_t n, typename Real>
__device__ void store(Real* to, const Few<Real, n>& few) {
    if constexpr (n == 1) *to = few.of[0];
    else if constexpr (sizeof(Real) == sizeof(float))
        __stwb(reinterpret_cast<float4*>(to), float4{few.of[0], few.of[1], few.of[2], few.of[3]});
    else
        for (std::size_t j = 0; j < n; j += 2) __stwb(reinterpret_cast<double2*>(to + j), double2{few.of[j], few.of[j + 1]});
}

/// Calls op.at<n>(i), which takes the elements i .. i + n, until all d are taken.
template <typename Op>
__global__ void each(const __grid_constant__ Op op, std::size_t d, bool aligned) {
    constexpr std::size_t n = kNeighbours<typename Op::Type>;
    const std::size_t begin = std::size_t{blockIdx.x} * blockDim.x * n, mine = begin + threadIdx.x * n;
    if (aligned && mine + n <= d) return op.template at<n>(mine);
    for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = aligned ? mine + k : begin + k * blockDim.x + threadIdx.x;
        if (i < d) op.template at<1>(i);
    }
}

inline bool all_aligned(std::initializer_list<const void*> vectors) {
    std::uintptr_t bits = 0;
    for (const void* vector : vectors) bits |= reinterpret_cast<std::uintptr_t>(vector);
    return bits % kAccess == 0;
}

template <typename Real>
bool all_aligned(std::span<Real* const> vectors) {
    bool aligned = true;
    for (Real* vector : vectors) aligned = aligned && all_aligned({vector});
    return aligned;
}

/// Small blocks for few elements, so that they are spread over the multiprocessors.
template <typename Op>
void launch_each(const char* name, const Op& op, std::size_t d, bool aligned, Stream stream) {
    static_assert(sizeof(Op) <= 4000, "a kernel's parameters have at most 4,096 bytes");
    const unsigned threads = d < std::size_t{1} << 20 ? 64 : kThreads;
    launch(name, each<Op>, blocks_for(d, threads * kNeighbours<typename Op::Type>), threads, stream, op, d, aligned);
}

/// x -= rate (clip[1] g).
template <typename Real>
struct Descend {
    using Type = Real;
    Real* x;
    const Real* g;
    const double* clip;
    Real rate;

    template <std::size_t n>
    __device__ void at(std::size_t i) const {
        const Real scale = static_cast<Real>(clip[1]);
        const auto slope = load<n>(g + i);
        auto moved = load<n>(x + i);
        for (std::size_t k = 0; k < n; ++k) moved.of[k] = optimising::descended(moved.of[k], slope.of[k], scale, rate);
        store(x + i, moved);
    }
};

/// The step of an element, in place. With `clip` the direction is scaled by clip[1].
template <typename Real, typename Kind>
struct Adapt {
    using Type = Real;
    optimising::Step<Real> step;
    optimising::Factors<Real> factors;
    const double* clip;

    template <std::size_t n>
    __device__ void at(std::size_t i) const {
        take(i, load<n>(step.g + i));
    }
    template <std::size_t n>
    __device__ void take(std::size_t i, const Few<Real, n>& g) const {
        constexpr bool has_maximum = Kind::maximum != optimising::Maximum::none;
        optimising::Factors<Real> f = factors;
        if (clip != nullptr) f.scale = static_cast<Real>(clip[1]);
        auto x = load<n>(step.x + i), m = load<n>(step.m + i), v = load<n>(step.v + i);
        Few<Real, n> vhat{};
        if constexpr (has_maximum) vhat = load<n>(step.vhat + i);
        for (std::size_t k = 0; k < n; ++k) {
            const auto next = optimising::adapted<Kind>({x.of[k], m.of[k], v.of[k], vhat.of[k]}, g.of[k], f);
            x.of[k] = next.x, m.of[k] = next.m, v.of[k] = next.v, vhat.of[k] = next.vhat;
        }
        store(step.x + i, x);
        store(step.m + i, m);
        store(step.v + i, v);
        if constexpr (has_maximum) store(step.vhat + i, vhat);
    }
};

/// Nothing is done with a sum but to store it.
struct Keep {
    template <typename Few>
    __device__ void take(std::size_t, const Few&) const {}
};

inline constexpr std::size_t kPairs = 224;  // so many weights and pointers are parameters

/// The weighted sum of `count` vectors, which is stored in `out` if that is not null, and used.
template <typename Real, typename Use>
struct Weighted {
    using Type = Real;
    List<Real, kPairs> weights;
    List<const Real*, kPairs> vectors;
    std::size_t count;
    Real* out;
    Use use;

    template <std::size_t n>
    __device__ void at(std::size_t i) const {
        const Few<Real, n> total = vectors.far == nullptr ? sum<n, false>(i) : sum<n, true>(i);
        if (out != nullptr) store(out + i, total);
        use.take(i, total);
    }

private:
    static constexpr std::size_t kAhead = 8;  // vectors that are under way to a thread at a time

    template <std::size_t n, bool is_long>
    __device__ Few<Real, n> sum(std::size_t i) const {
        Few<Real, n> total{}, ahead[kAhead];
        std::size_t k = 0;
        for (; k + kAhead <= count; k += kAhead) {
            for (std::size_t p = 0; p < kAhead; ++p) ahead[p] = load<n>(vectors.template at<is_long>(k + p) + i);
            for (std::size_t p = 0; p < kAhead; ++p) add(total, weights.template at<is_long>(k + p), ahead[p]);
        }
        for (; k < count; ++k) add(total, weights.template at<is_long>(k), load<n>(vectors.template at<is_long>(k) + i));
        return total;
    }
    template <std::size_t n>
    __device__ static void add(Few<Real, n>& total, Real weight, const Few<Real, n>& vector) {
        for (std::size_t j = 0; j < n; ++j) total.of[j] = std::fma(weight, vector.of[j], total.of[j]);
    }
};

inline constexpr std::size_t kTriples = 128;  // so many arrivals are parameters

/// CacheUpdate, with weights in the vectors' type.
template <typename Real>
struct Arrivals {
    using Type = Real;
    List<Real, kTriples> weights;
    List<const Real*, kTriples> vectors;
    List<Real*, kTriples> rows;
    std::size_t count;
    double* sum;
    Real* out;
    double scale;
    CacheOrder order;

    template <std::size_t n>
    __device__ void at(std::size_t i) const {
        auto total = load<n>(sum + i);
        Few<Real, n> v;
        for (std::size_t j = 0; j < n; ++j) v.of[j] = caching::scaled_sum<Real>(scale, total.of[j]);
        if (order == CacheOrder::deferred)
            for (std::size_t k = 0; k < count; ++k) arrive(v, k, load<n>(vectors[k] + i), load<n>(rows[k] + i));
        for (std::size_t k = 0; k < count; ++k) {
            const auto vector = load<n>(vectors[k] + i), row = load<n>(rows[k] + i);
            if (order == CacheOrder::immediate) arrive(v, k, vector, row);
            for (std::size_t j = 0; j < n; ++j) total.of[j] = caching::replaced(total.of[j], vector.of[j], row.of[j]);
            store(rows[k] + i, vector);
        }
        if (order == CacheOrder::newest)
            for (std::size_t j = 0; j < n; ++j) v.of[j] = caching::scaled_sum<Real>(scale, total.of[j]);
        store(sum + i, total);
        store(out + i, v);
    }

private:
    template <std::size_t n>
    __device__ void arrive(Few<Real, n>& v, std::size_t k, const Few<Real, n>& vector, const Few<Real, n>& row) const {
        for (std::size_t j = 0; j < n; ++j) v.of[j] = caching::with_arrival(v.of[j], weights[k], vector.of[j], row.of[j]);
    }
};

}  // namespace fedbench::cuda
