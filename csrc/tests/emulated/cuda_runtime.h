// As much of the CUDA runtime as csrc/cuda uses, on the host, so that kernels run where there is no GPU: a thread of a block is a
// fiber that runs until it meets the others (a barrier or a shuffle), then the next one does; blocks run one after another. Every other
// launch goes through the threads backwards, so that a missing barrier shows whoever should have waited. It says nothing about a GPU's
// arithmetic. Streams are ignored: everything has happened when a call returns. As in the real runtime, a failed call leaves its error
// as the last one, which only cudaGetLastError clears.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __grid_constant__
#define __shared__ static

struct CUstream_st;
using cudaStream_t = CUstream_st*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorMemoryAllocation };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
using cudaEvent_t = cudaStream_t*;  // what it holds is the stream that was recorded
inline constexpr unsigned cudaEventDisableTiming = 2;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    constexpr dim3(unsigned count = 1) : x(count) {}
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
};

enum cudaMemAllocationType { cudaMemAllocationTypeInvalid, cudaMemAllocationTypePinned };
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    struct {
        cudaMemLocationType type;
        int id;
    } location;
};
namespace emulated {
struct Pool {
    std::uint64_t kept = 0;
};
}  // namespace emulated
using cudaMemPool_t = emulated::Pool*;

struct [[gnu::may_alias]] alignas(16) float4 {
    float x, y, z, w;
};
struct [[gnu::may_alias]] alignas(16) double2 {
    double x, y;
};
template <typename T>
void __stwb(T* to, T value) {
    *to = value;
}

inline dim3 threadIdx{0}, blockIdx{0}, blockDim, gridDim;

namespace emulated {

struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 16);
    double slot = 0;  // what a shuffle hands over; wide enough for every type
    bool done = false;
};

inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline std::function<void()> body;  // of the running kernel
inline bool backwards = false;
inline cudaError_t last_error = cudaSuccess;
inline int allocations = -1;                                      // after so many the memory is used up; negative: never
inline int pools = 0;                                             // how many were made
inline std::size_t launches = 0, to_host = 0, to_device = 0;      // calls, and bytes of copies
inline std::size_t host_waits = 0;                                // how often the host waited for a stream
inline std::vector<std::pair<cudaStream_t, cudaStream_t>> waits;  // which stream was made to wait for which

/// What a call returns.
inline cudaError_t leaving(cudaError_t status) {
    if (status != cudaSuccess) last_error = status;
    return status;
}

/// Lets the other threads come to the same place.
inline void meet() {
    Fiber& mine = fibers[threadIdx.x];
    swapcontext(&mine.context, &scheduler);
}

inline void enter() {
    body();
    fibers[threadIdx.x].done = true;
}

/// Every thread once, from meeting to meeting; whether one is left.
inline bool advance(unsigned threads) {
    bool left = false;
    for (unsigned k = 0; k < threads; ++k) {
        const unsigned i = backwards ? threads - 1 - k : k;
        if (fibers[i].done) continue;
        threadIdx = dim3(i);
        swapcontext(&scheduler, &fibers[i].context);
        left = true;
    }
    return left;
}

inline void run_block(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) {
        Fiber& fiber = fibers[i];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        fiber.done = false;
        makecontext(&fiber.context, enter, 0);
    }
    while (advance(threads)) {
    }
}

}  // namespace emulated

inline void __syncthreads() { emulated::meet(); }

/// The value of a thread of the same group of `width` neighbours; all of them call.
template <typename T>
T __shfl_sync(unsigned, T value, int lane, unsigned width) {
    static_assert(sizeof(T) <= sizeof(double));
    std::memcpy(&emulated::fibers[threadIdx.x].slot, &value, sizeof value);
    emulated::meet();
    std::memcpy(&value, &emulated::fibers[threadIdx.x / width * width + static_cast<unsigned>(lane)].slot, sizeof value);
    emulated::meet();
    return value;
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int step, unsigned width) {
    return __shfl_sync(mask, value, static_cast<int>(threadIdx.x % width) ^ step, width);
}

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), const Arguments&... arguments) {
    gridDim = config->gridDim, blockDim = config->blockDim;
    if (gridDim.x == 0 || blockDim.x == 0 || blockDim.x > 1024) return emulated::leaving(cudaErrorInvalidConfiguration);
    if (emulated::fibers.size() < blockDim.x) emulated::fibers = std::vector<emulated::Fiber>(blockDim.x);
    emulated::body = [&] { kernel(arguments...); };
    emulated::backwards = !emulated::backwards;
    ++emulated::launches;
    for (unsigned block = 0; block < gridDim.x; ++block) {
        blockIdx = dim3(block);
        emulated::run_block(blockDim.x);
    }
    return cudaSuccess;
}

inline cudaError_t cudaGetLastError() { return std::exchange(emulated::last_error, cudaSuccess); }
inline const char* cudaGetErrorString(cudaError_t status) {
    if (status == cudaErrorInvalidValue) return "invalid argument";
    return status == cudaErrorInvalidConfiguration ? "invalid configuration argument" : "out of memory";
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
    ++emulated::host_waits;
    return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    *memory = emulated::allocations == 0 ? nullptr : std::malloc(bytes);
    if (emulated::allocations > 0) --emulated::allocations;
    return emulated::leaving(*memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* props) {
    static emulated::Pool made;
    if (props->location.type != cudaMemLocationTypeDevice || props->location.id != 0) return emulated::leaving(cudaErrorInvalidValue);
    ++emulated::pools;
    *pool = &made;
    return cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value) {
    pool->kept = *static_cast<std::uint64_t*>(value);
    return cudaSuccess;
}
inline cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t) {
    return pool->kept == 0 ? emulated::leaving(cudaErrorInvalidValue) : cudaMalloc(memory, bytes);
}
inline cudaError_t cudaFree(void* memory) {
    std::free(memory);
    return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return cudaFree(memory); }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    if (kind == cudaMemcpyDeviceToHost) emulated::to_host += bytes;
    if (kind == cudaMemcpyHostToDevice) emulated::to_device += bytes;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new cudaStream_t{};
    return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    *event = stream;
    return cudaSuccess;
}
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    emulated::waits.emplace_back(stream, *event);
    return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

/// All memory is that of device 0.
inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
    *attributes = {cudaMemoryTypeDevice, 0};
    return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
