// The order in which lanes are added, written once for registers and for the threads of a GPU.
#pragma once

#include <cstddef>

namespace fedbench::simd {
namespace {

/// Adds lane j + n / 2 to lane j, of these j + n / 4 to j, and so on. Of eight lanes the sum is
/// ((0+4)+(2+6)) + ((1+5)+(3+7)).
template <std::size_t n>
constexpr double add_lanes(const double (&lane)[n]) {
    if constexpr (n == 1) {
        return lane[0];
    } else {
        double half[n / 2]{};
        for (std::size_t j = 0; j < n / 2; ++j) half[j] = lane[j] + lane[j + n / 2];
        return add_lanes(half);
    }
}

}  // namespace
}  // namespace fedbench::simd
