// The largest element of a row, and where it is.
#pragma once

#include "pack.hpp"

namespace fedbench::distillation {
namespace {

/// Largest of a row of at least one pack.
template <typename Real>
Real largest_of(const Real* row, std::size_t classes) {
    constexpr std::size_t width = Pack<Real>::width, chains = 4;
    const Pack<Real> tail = load(row + classes - width);
    Pack<Real> best[chains] = {tail, tail, tail, tail};
    std::size_t i = 0;
    for (; i + chains * width <= classes; i += chains * width)
        for (std::size_t k = 0; k < chains; ++k) best[k] = larger(load(row + i + k * width), best[k]);
    for (; i + width <= classes; i += width) best[0] = larger(load(row + i), best[0]);
    const Pack<Real> all = larger(larger(best[0], best[1]), larger(best[2], best[3]));
    Real lane[width];
    store(lane, all);
    Real largest = lane[0];
    for (std::size_t j = 1; j < width; ++j) largest = lane[j] > largest ? lane[j] : largest;
    return largest;
}

/// First place of `value` in a row; 0 if it is not there (NaN).
template <typename Real>
std::int64_t first_place_of(const Real* row, std::size_t classes, Real value) {
    constexpr std::size_t block = 64 / sizeof(Real);
    std::size_t i = 0;
    for (; i + block <= classes; i += block) {
        int found = 0;
        for (std::size_t j = 0; j < block; ++j) found |= row[i + j] == value;
        if (found != 0) break;
    }
    for (; i < classes; ++i)
        if (row[i] == value) return static_cast<std::int64_t>(i);
    return 0;
}

}  // namespace
}  // namespace fedbench::distillation
