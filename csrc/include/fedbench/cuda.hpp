// The kernels of accumulate.hpp, optimise.hpp, cache.hpp and distill.hpp on a GPU: the same
// functions, the same contracts, the same bits.
//
// Spans are device memory of the current device; weights and lists of vectors lie on the host.
// Every result has the bits of the CPU's, sums included, for any grid: a block of threads takes a
// block of accumulate.hpp, eight of them add its eight lanes in order, and one thread adds the
// blocks in order; a thread that sums a row is a lane of distill.hpp's packs. There is no atomic
// operation. The one exception is which NaN a NaN is. A call works on `stream` and returns when the
// stream has finished, so its results may be used on any stream; order with earlier work elsewhere
// is `wait_for`. Memory is taken from a pool of its own a device, which keeps some. Any
// number of elements, also more than 2^31. Throws CudaError, which names the call or the kernel,
// and std::invalid_argument as the CPU's functions do. Thread-safe: no state but the pools.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "fedbench/accumulate.hpp"
#include "fedbench/cache.hpp"
#include "fedbench/distill.hpp"
#include "fedbench/optimise.hpp"

struct CUstream_st;

namespace fedbench::cuda {

using Stream = CUstream_st*;  // cudaStream_t; nullptr is the legacy default stream

class CudaError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, Stream stream);

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, Stream stream);

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, Stream stream);

template <typename Real>
Clip clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, Stream stream);

template <typename Real>
Clip clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound, Stream stream);

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   Stream stream);

template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream);

/// update.weights, update.vectors and update.rows lie on the host.
template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream);

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  Stream stream);

/// The same functions, which wait for nothing: they return when `stream` has their work, and a
/// failure on the device is told by a later call. What the others return is left in device memory:
/// the squared norm (null where it is not wanted), the product, the four sums of Movement, norm and
/// factor, or loss, relative entropy and alpha. What lies on the host is not looked at afterwards.
namespace later {

template <typename Real>
void weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, double* norm2, Stream stream);

template <typename Real>
void dot(std::span<const Real> a, std::span<const Real> b, double* product, Stream stream);

template <typename Real>
void movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, double* numbers, Stream stream);

template <typename Real>
void clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, double* clip, Stream stream);

template <typename Real>
void clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound, double* clip,
               Stream stream);

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   Stream stream);

template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream);

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream);

template <typename Real>
void distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
             double* numbers, Stream stream);

}  // namespace later

/// Copies numbers of the device to the host, after waiting for the stream.
void read(std::span<double> to, const double* from, const char* name, Stream stream);

/// Waits for the stream. `name` says in an error what it was doing.
void finish(const char* name, Stream stream);

/// Makes work that is given to `stream` from now on start after the work that `producer` has been
/// given so far.
void wait_for(Stream stream, Stream producer);

/// Returns the device that the memory is on; -1 if it is memory of the host.
int device_of(const void* memory);

/// Makes a device the current one for as long as this lives. -1 leaves the current one.
class OnDevice {
public:
    explicit OnDevice(int device);
    ~OnDevice();
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

private:
    int before_ = -1;
};

/// Memory of the current device, which is given back in the order of the stream's work.
class Memory {
public:
    Memory(std::size_t bytes, Stream stream);
    ~Memory();
    Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), device_(other.device_), stream_(other.stream_) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* data() const { return data_; }
    int device() const { return device_; }
    Stream stream() const { return stream_; }

private:
    void* data_ = nullptr;
    int device_ = 0;
    Stream stream_;
};

}  // namespace fedbench::cuda
