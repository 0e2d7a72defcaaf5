// The formulas of cache.hpp for one element, for the CPU's loops and a GPU's kernels (see rule.hpp
// for how and why).
#pragma once

#include <cmath>

namespace fedbench::caching {
namespace {

/// Element of v before any arrival, or for `newest` after all of them.
template <typename Real>
constexpr Real scaled_sum(double scale, double sum) {
    return static_cast<Real>(scale * sum);
}

/// v with one more arrival.
template <typename Real>
constexpr Real with_arrival(Real v, Real weight, Real vector, Real row) {
    return std::fma(weight, vector - row, v);
}

/// S once `vector` has taken the place of `row`.
template <typename Real>
constexpr double replaced(double sum, Real vector, Real row) {
    return sum + (static_cast<double>(vector) - static_cast<double>(row));
}

}  // namespace
}  // namespace fedbench::caching
