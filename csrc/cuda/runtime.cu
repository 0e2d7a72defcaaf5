#include "runtime.cuh"

#include <map>
#include <mutex>

namespace fedbench::cuda {

cudaMemPool_t pool() {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;  // never destroyed: the runtime may be gone before them
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    const std::lock_guard lock(mutex);
    const auto known = pools.find(device);
    if (known != pools.end()) return known->second;
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    cudaMemPool_t made = nullptr;
    check(cudaMemPoolCreate(&made, &props), "cudaMemPoolCreate");
    std::uint64_t kept = kKept;
    check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept), "cudaMemPoolSetAttribute");
    return pools[device] = made;
}

void wait_for(Stream stream, Stream producer) {
    if (stream == producer) return;
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    const cudaError_t recorded = cudaEventRecord(event, producer);
    const cudaError_t waiting = recorded == cudaSuccess ? cudaStreamWaitEvent(stream, event, 0) : recorded;
    forget(cudaEventDestroy(event));
    check(waiting, "wait for the array's stream");
}

int device_of(const void* memory) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    const bool on_device = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
    return on_device ? attributes.device : -1;
}

OnDevice::OnDevice(int device) {
    if (device < 0) return;
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
}

OnDevice::~OnDevice() {
    if (before_ >= 0) forget(cudaSetDevice(before_));
}

Memory::Memory(std::size_t bytes, Stream stream) : stream_(stream) {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    if (bytes > 0) check(cudaMallocFromPoolAsync(&data_, bytes, pool(), stream), "memory of a result");
}

Memory::~Memory() {
    if (data_ == nullptr) return;
    int before = 0;
    forget(cudaGetDevice(&before));
    forget(cudaSetDevice(device_));  // a default stream is that of the current device
    forget(cudaFreeAsync(data_, stream_));
    forget(cudaSetDevice(before));
}

void read(std::span<double> to, const double* from, const char* name, Stream stream) {
    check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream), name);
    check(cudaStreamSynchronize(stream), name);
}

void finish(const char* name, Stream stream) { check(cudaStreamSynchronize(stream), name); }

}  // namespace fedbench::cuda
