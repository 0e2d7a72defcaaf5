// The largest element of a row, and where it is.
#pragma once

#include "pack.hpp"

namespace fedbench::distillation {
namespace {

/// Returns the largest element of a row of at least one pack.
template <typename Real>
Real largest_of(const Real* row, std::size_t classes) {
    constexpr std::size_t width = Pack<Real>::width, chains = 4;
    const Pack<Real> tail = load(row + classes - width);
    Pack<Real> best[chains] = {tail, tail, tail, tail};
    std::size_t i = 0;
    for (; i + chains * width <= classes; i += chains * width)
        for (std::size_t k = 0; k < chains; ++k) best[k] = larger(load(row + i + k * width), best[k]);
    for (; i + width <= classes; i += width) best[0] = larger(load(row + i), best[0]);
    Real lane[width];
    store(lane, larger(larger(best[0], best[1]), larger(best[2], best[3])));
    for (std::size_t half = width / 2; half > 0; half /= 2)
        for (std::size_t j = 0; j < half; ++j) lane[j] = lane[j] > lane[j + half] ? lane[j] : lane[j + half];
    return lane[0];
}

/// Returns the first place of `value` in a row of at least one pack; 0 if it is not there (NaN).
template <typename Real>
std::int64_t first_place_of(const Real* row, std::size_t classes, Real value) {
    constexpr std::size_t width = Pack<Real>::width;
    const auto sought = broadcast(value);
    for (std::size_t i = 0; i + width <= classes; i += width)
        if (const unsigned lanes = equal_lanes(load(row + i), sought)) return static_cast<std::int64_t>(i) + std::countr_zero(lanes);
    const std::size_t last = classes - width;
    if (const unsigned lanes = equal_lanes(load(row + last), sought)) return static_cast<std::int64_t>(last) + std::countr_zero(lanes);
    return 0;
}

}  // namespace
}  // namespace fedbench::distillation
