// The kernels of accumulate.hpp, optimise.hpp, cache.hpp and distill.hpp on a GPU: the same
// functions, the same contracts, the same bits.
//
// Spans are device memory of the current device; weights and lists of vectors lie on the host.
// Every result has the bits of the CPU's, sums included, for any grid: a block of threads takes a
// block of accumulate.hpp, eight of them add its eight lanes in order, and the host adds the
// blocks; a thread that sums a row is a lane of distill.hpp's packs. There is no atomic operation.
// The one exception is which NaN a NaN is. A call works on `stream` and returns when the stream has
// finished, so its results may be used on any stream; order with earlier work elsewhere is
// `wait_for`. Temporary memory is taken from a pool of its own a device, which keeps some. Any
// number of elements, also more than 2^31. Throws CudaError, which names the call or the kernel,
// and std::invalid_argument as the CPU's functions do. Thread-safe: no state but the pools.
#pragma once

#include <stdexcept>
#include <string>

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
double sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                         std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream);

/// update.weights, update.vectors and update.rows lie on the host.
template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream);

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  Stream stream);

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

void* allocate(std::size_t bytes);
void release(void* memory) noexcept;

}  // namespace fedbench::cuda
