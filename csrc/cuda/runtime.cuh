// The CUDA runtime as these kernels use it: checked calls, temporary memory of a stream, and
// launches whose errors name the kernel.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <string>

#include "fedbench/cuda.hpp"

namespace fedbench::cuda {

inline constexpr unsigned kThreads = 256;  // of a block

/// Takes a failed call's error back from the runtime, which would give it to the next who asks for
/// the last error, such as torch after a launch of its own. What has broken the context stays.
inline void forget(cudaError_t status) noexcept {
    if (status != cudaSuccess) cudaGetLastError();
}

inline void check(cudaError_t status, const char* what) {
    forget(status);
    if (status != cudaSuccess) throw CudaError(std::string(what) + ": " + cudaGetErrorString(status));
}

/// The pool of this library on the current device. It keeps up to kKept bytes from call to call;
/// the device's own pool would give all of them back whenever a stream has finished.
inline constexpr std::uint64_t kKept = std::uint64_t{64} << 20;
cudaMemPool_t pool();

/// Memory of that pool, which is given back in the stream's order.
template <typename T>
class Temporary {
public:
    Temporary(std::size_t count, Stream stream) : count_(count), stream_(stream) {
        if (count > 0) check(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&data_), count * sizeof(T), pool(), stream), "temporary memory");
    }
    ~Temporary() {
        if (count_ > 0) forget(cudaFreeAsync(data_, stream_));
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    T* data() const { return data_; }

private:
    T* data_ = nullptr;
    std::size_t count_;
    Stream stream_;
};

/// n numbers that a call leaves in device memory, and for which the host waits.
template <std::size_t n>
class Numbers {
public:
    explicit Numbers(Stream stream) : memory_(n, stream), stream_(stream) {}

    double* data() const { return memory_.data(); }
    std::array<double, n> wait(const char* name) const {
        std::array<double, n> values;
        read(values, data(), name, stream_);
        return values;
    }

private:
    Temporary<double> memory_;
    Stream stream_;
};

/// Returns how many blocks of `size` cover `count` things.
constexpr std::size_t blocks_for(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

/// Runs kernel(arguments...) on `blocks` blocks of `threads` threads. Without blocks nothing is
/// launched, since the runtime refuses an empty grid. The launch says itself whether it was made:
/// the runtime's last error may be an older one, of a call that is not ours.
template <typename... Parameters, typename... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), std::size_t blocks, unsigned threads, Stream stream,
            const Arguments&... arguments) {
    if (blocks == 0) return;
    if (blocks > 0x7FFFFFFF) throw CudaError(std::string(name) + ": " + std::to_string(blocks) + " blocks, more than a grid may have");
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(threads);
    config.stream = stream;
    check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

}  // namespace fedbench::cuda
