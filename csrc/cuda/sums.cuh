// Launches sum_blocks, and adds the sums of the blocks on the host, where they are wanted: one
// after another, as the CPU does.
#pragma once

#include <array>

#include "../accumulate/checks.hpp"
#include "blocks.cuh"

namespace fedbench::cuda {

template <typename Source>
std::array<double, Source::kSums> sums_of(const char* name, const Source& source, std::size_t d, Stream stream) {
    const std::size_t blocks = blocks_for(d, lanes::kBlock);
    const Temporary<double> partial(Source::kSums * blocks, stream);
    launch(name, sum_blocks<Source>, blocks, kThreads, stream, source, d, partial.data());
    const std::vector<double> values = partial.values();
    std::array<double, Source::kSums> sums{};
    for (std::size_t n = 0; n < sums.size(); ++n)
        for (std::size_t block = 0; block < blocks; ++block) sums[n] += values[n * blocks + block];
    return sums;
}

template <typename Real>
std::vector<Real> rounded(std::span<const double> weights) {
    std::vector<Real> result;
    for (double weight : weights) result.push_back(static_cast<Real>(weight));
    return result;
}

/// Calls use(i, sum) for every element of the weighted sum, and returns its squared norm.
template <typename Real, typename Use>
double weighted(const char* name, std::span<const double> weights, std::span<const Real* const> vectors, std::size_t d, const Use& use,
                Stream stream) {
    check_weights(weights.size(), vectors.size());
    const Temporary<Real> factors(rounded<Real>(weights), stream);
    const Temporary<const Real*> pointers(std::vector<const Real*>(vectors.begin(), vectors.end()), stream);
    return sums_of(name, WeightedSource<Real, Use>{factors.data(), pointers.data(), vectors.size(), use}, d, stream)[0];
}

}  // namespace fedbench::cuda
