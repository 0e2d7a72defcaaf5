// The formulas of cache.hpp for one element, shared by the CPU's loops and a GPU's kernels;
// rule.hpp says how and why.
#pragma once

#include <cmath>

namespace fedbench::caching {
namespace {

/// Returns an element of v before any arrival; for `newest`, after all of them.
template <typename Real>
constexpr Real scaled_sum(double scale, double sum) {
    return static_cast<Real>(scale * sum);
}

/// Returns v with one more arrival.
template <typename Real>
constexpr Real with_arrival(Real v, Real weight, Real vector, Real row) {
    return std::fma(weight, vector - row, v);
}

/// Returns S after `vector` has taken the place of `row`.
template <typename Real>
constexpr double replaced(double sum, Real vector, Real row) {
    return sum + (static_cast<double>(vector) - static_cast<double>(row));
}

}  // namespace
}  // namespace fedbench::caching
