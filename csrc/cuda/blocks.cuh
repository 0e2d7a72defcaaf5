// Sums over vectors with the bits of accumulate/lanes.hpp. A block of threads takes a block of
// kBlock elements. All its threads fetch and compute, tile by tile, into shared memory; for each
// sum eight of them add the lanes, each in order.
#pragma once

#include <cmath>

#include "../simd/tree.hpp"
#include "fedbench/accumulate.hpp"
#include "runtime.cuh"

namespace fedbench::cuda {

inline constexpr std::size_t kTile = 1024;  // elements in shared memory at a time; a multiple of the lanes

template <std::size_t n>
struct Values {
    double of[n];
};

/// Computes kSums sums of kValues values. source.at(i) has the values of element i, and sum n is
/// that of value left(n) times value right(n). partial (kSums, blocks) receives the sum of each
/// block.
template <typename Source>
__global__ void sum_blocks(Source source, std::size_t d, double* partial) {
    using lanes::kLanes;
    __shared__ double tile[Source::kValues][kTile];
    __shared__ double lane_sums[Source::kSums][kLanes];
    const std::size_t begin = std::size_t{blockIdx.x} * lanes::kBlock, end = begin + lanes::kBlock < d ? begin + lanes::kBlock : d;
    const unsigned n = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
    double sum = 0;
    for (std::size_t from = begin; from < end; from += kTile) {
        const std::size_t count = from + kTile < end ? kTile : end - from;
        for (std::size_t j = threadIdx.x; j < count; j += blockDim.x) {
            const Values<Source::kValues> value = source.at(from + j);
            for (std::size_t k = 0; k < Source::kValues; ++k) tile[k][j] = value.of[k];
        }
        __syncthreads();
        if (n < Source::kSums) {
            const double *left = tile[Source::left(n)], *right = tile[Source::right(n)];
            for (std::size_t j = lane; j < count; j += kLanes) sum = std::fma(left[j], right[j], sum);
        }
        __syncthreads();
    }
    if (n < Source::kSums) lane_sums[n][lane] = sum;
    __syncthreads();
    if (threadIdx.x < Source::kSums) partial[std::size_t{threadIdx.x} * gridDim.x + blockIdx.x] = simd::add_lanes(lane_sums[threadIdx.x]);
}

template <typename Real>
struct DotSource {
    static constexpr std::size_t kValues = 2, kSums = 1;
    static constexpr std::size_t left(std::size_t) { return 0; }
    static constexpr std::size_t right(std::size_t) { return 1; }

    const Real *a, *b;

    __device__ Values<2> at(std::size_t i) const { return {static_cast<double>(a[i]), static_cast<double>(b[i])}; }
};

/// The values x, x - base and delta; the sums of their squares, and of the product of the latter
/// two.
template <typename Real>
struct MovementSource {
    static constexpr std::size_t kValues = 3, kSums = 4;
    static constexpr std::size_t left(std::size_t n) { return n < 3 ? n : 1; }
    static constexpr std::size_t right(std::size_t n) { return n < 3 ? n : 2; }

    const Real *x, *base, *delta;

    __device__ Values<3> at(std::size_t i) const {
        return {static_cast<double>(x[i]), static_cast<double>(x[i] - base[i]), static_cast<double>(delta[i])};
    }
};

}  // namespace fedbench::cuda
