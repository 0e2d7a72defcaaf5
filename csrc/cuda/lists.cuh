// Lists of weights and pointers, which lie on the host, for kernels. A short one is a part of the
// kernel's parameters, so nothing is copied and nothing has to be kept.
#pragma once

#include "runtime.cuh"

namespace fedbench::cuda {

/// As a kernel sees it: up to n elements lie in it, more of them in device memory.
template <typename T, std::size_t n>
struct List {
    T near[n];
    const T* far;

    __device__ T operator[](std::size_t k) const { return far == nullptr ? near[k] : far[k]; }
    /// The same, where it is known whether the list is long.
    template <bool is_long>
    __device__ T at(std::size_t k) const {
        if constexpr (is_long) return far[k];
        else return near[k];
    }
};

template <typename T, std::size_t n>
__global__ void store_list(const __grid_constant__ List<T, n> list, T* to, std::size_t count) {
    for (std::size_t k = threadIdx.x; k < count; k += blockDim.x) to[k] = list.near[k];
}

/// Makes a List of value(0), .., value(count - 1). A long one is stored by a launch for every n
/// elements.
template <typename T, std::size_t n>
class Listed {
public:
    template <typename Value>
    Listed(std::size_t count, const Value& value, Stream stream) : far_(count > n ? count : 0, stream) {
        for (std::size_t begin = 0; begin < count; begin += n) {
            const std::size_t here = count - begin < n ? count - begin : n;
            for (std::size_t k = 0; k < here; ++k) list_.near[k] = value(begin + k);
            if (count > n) launch("store_list", store_list<T, n>, 1, kThreads, stream, list_, far_.data() + begin, here);
        }
        list_.far = far_.data();
    }

    const List<T, n>& list() const { return list_; }

private:
    List<T, n> list_{};
    Temporary<T> far_;
};

}  // namespace fedbench::cuda
