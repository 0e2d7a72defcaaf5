// Kernels in which every thread takes one element.
#pragma once

#include "../accumulate/cached.hpp"
#include "blocks.cuh"
#include "fedbench/cache.hpp"

namespace fedbench::cuda {

__device__ inline std::size_t my_element() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }

template <typename Real, typename Kind>
__global__ void adapt_elements(Adapt<Real, Kind> adapt) {
    const std::size_t i = my_element();
    if (i < adapt.step.d) adapt(i, adapt.step.g[i]);
}

template <typename Real>
__global__ void descend_elements(Real* x, const Real* g, std::size_t d, Real scale, Real rate) {
    const std::size_t i = my_element();
    if (i < d) x[i] = optimising::descended(x[i], g[i], scale, rate);
}

/// CacheUpdate's pointers in device memory; weights in the vectors' type.
template <typename Real>
struct Arrivals {
    const Real* weights;
    const Real* const* vectors;
    Real* const* rows;
    std::size_t count;
    double* sum;
    double scale;
    CacheOrder order;
};

template <typename Real>
__global__ void update_elements(Arrivals<Real> a, Real* out, std::size_t d) {
    const std::size_t i = my_element();
    if (i >= d) return;
    double sum = a.sum[i];
    Real v = caching::scaled_sum<Real>(a.scale, sum);
    if (a.order == CacheOrder::deferred)
        for (std::size_t k = 0; k < a.count; ++k) v = caching::with_arrival(v, a.weights[k], a.vectors[k][i], a.rows[k][i]);
    for (std::size_t k = 0; k < a.count; ++k) {
        const Real vector = a.vectors[k][i], row = a.rows[k][i];
        if (a.order == CacheOrder::immediate) v = caching::with_arrival(v, a.weights[k], vector, row);
        sum = caching::replaced(sum, vector, row);
        a.rows[k][i] = vector;
    }
    a.sum[i] = sum;
    out[i] = a.order == CacheOrder::newest ? caching::scaled_sum<Real>(a.scale, sum) : v;
}

}  // namespace fedbench::cuda
