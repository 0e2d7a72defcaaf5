// The host's side of weighted sums.
#pragma once

#include "elements.cuh"
#include "sums.cuh"

namespace fedbench::cuda {

/// Stores the weighted sum in `out`, calls use.take(i, sum) with all of it, and leaves its squared
/// norm in `norm2`; either may be null, but a norm is that of `out`. `aligned` is what is known of
/// the vectors that `use` has.
template <typename Real, typename Use>
void weighted(const char* name, std::span<const double> weights, std::span<const Real* const> vectors, std::size_t d, Real* out,
              const Use& use, bool aligned, double* norm2, Stream stream) {
    check_weights(weights.size(), vectors.size());
    const bool has_norm = norm2 != nullptr;
    const Sums<DotSource<Real>> sums(has_norm ? d : 0, stream);
    const Listed<Real, kPairs> factors(
        weights.size(), [&](std::size_t k) { return static_cast<Real>(weights[k]); }, stream);
    const Listed<const Real*, kPairs> pointers(
        vectors.size(), [&](std::size_t k) { return vectors[k]; }, stream);
    const Weighted<Real, Use> op{factors.list(), pointers.list(), vectors.size(), out, use};
    launch_each(name, op, d, aligned && all_aligned(vectors) && all_aligned({out}), stream);
    if (has_norm) sums.launch_with(name, DotSource<Real>{out, out}, Leave<1>{norm2});
}

}  // namespace fedbench::cuda
