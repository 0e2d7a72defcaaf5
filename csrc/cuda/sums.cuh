// Launches sum_blocks, and then one block that adds the sums of the blocks one after another, as
// the CPU does, and hands them on. They stay on the device.
#pragma once

#include "../accumulate/checks.hpp"
#include "blocks.cuh"

namespace fedbench::cuda {

/// Calls then(sums) with n sums of `count` numbers each, which are added in order.
template <std::size_t n, typename Then>
__global__ void add_in_order(const double* numbers, std::size_t count, Then then) {
    __shared__ double tile[n][kThreads];
    __shared__ double sums[n];
    double sum = 0;
    for (std::size_t begin = 0; begin < count; begin += kThreads) {
        const std::size_t here = count - begin < kThreads ? count - begin : kThreads;
        for (std::size_t k = 0; k < n; ++k)
            if (threadIdx.x < here) tile[k][threadIdx.x] = numbers[k * count + begin + threadIdx.x];
        __syncthreads();
        if (threadIdx.x < n)
            for (std::size_t j = 0; j < here; ++j) sum += tile[threadIdx.x][j];
        __syncthreads();
    }
    if (threadIdx.x < n) sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) then(sums);
}

template <std::size_t n, typename Then>
void launch_in_order(const char* name, const double* numbers, std::size_t count, const Then& then, Stream stream) {
    launch(name, add_in_order<n, Then>, 1, kThreads, stream, numbers, count, then);
}

/// Leaves the sums as they are.
template <std::size_t n>
struct Leave {
    double* numbers;

    __device__ void operator()(const double* sums) const {
        for (std::size_t k = 0; k < n; ++k) numbers[k] = sums[k];
    }
};

/// Leaves the norm and the factor, given the squared norm.
struct LeaveClip {
    double* numbers;
    double bound;

    __device__ void operator()(const double* sums) const {
        const Clip clip = optimising::clip_of(sums[0], bound);
        numbers[0] = clip.norm;
        numbers[1] = clip.factor;
    }
};

/// Sums over d elements. Its memory is there before anything is launched.
template <typename Source>
class Sums {
public:
    Sums(std::size_t d, Stream stream)
        : d_(d), blocks_(blocks_for(d, lanes::kBlock)), partial_(Source::kSums * blocks_, stream), stream_(stream) {}

    template <typename Then>
    void launch_with(const char* name, const Source& source, const Then& then) const {
        launch(name, sum_blocks<Source>, blocks_, kThreads, stream_, source, d_, partial_.data());
        launch_in_order<Source::kSums>(name, partial_.data(), blocks_, then, stream_);
    }

private:
    std::size_t d_, blocks_;
    Temporary<double> partial_;
    Stream stream_;
};

}  // namespace fedbench::cuda
