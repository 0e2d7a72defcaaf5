// The lists that a convolution works through backward.
#pragma once

#include "activations.hpp"
#include "row_sums.hpp"

namespace fedbench::train {
namespace {

/// Lists of the slopes that are not 0, each with the place where the numbers start by which it is
/// multiplied. A list has at most `most` slopes.
template <typename Real>
struct Slopes {
    std::size_t most = 0;
    Buffer<Real> value;
    std::vector<std::int32_t> at;
    std::vector<std::uint32_t> count;

    Slopes() = default;
    Slopes(std::size_t lists, std::size_t longest) : most(longest), value(lists * longest), at(lists * longest), count(lists) {}

    RowSum<Real> sum(std::size_t list) const {
        return {value.data() + list * most, at.data() + list * most, count[list], nullptr, 0, nullptr, 0};
    }
};

}  // namespace
}  // namespace fedbench::train
