// The first pass of distill over rows of very many classes: a block of threads takes a row. Its
// groups of neighbours are the lanes of the CPU's pack, each at another piece of the row.
#pragma once

#include "rows.cuh"

namespace fedbench::cuda {

inline constexpr std::size_t kLong = 1024;  // classes from which a row is a block's

template <typename Real>
inline constexpr unsigned kGroups = kThreads / kWidth<Real>;

/// Does what largest_of does; every thread gets the result. A lane is NaN if its element of the
/// last pack is, and ignores other NaNs, so groups may share its elements.
template <typename Real>
__device__ Real largest_of_block(const Real* row, std::size_t classes, const Lanes<kWidth<Real>>& lanes) {
    constexpr unsigned width = kWidth<Real>;
    __shared__ Real best[kGroups<Real>][width];
    const auto larger = [](Real x, Real y) { return x > y ? x : y; };
    Real mine = row[classes - width + lanes.lane];
    for (std::size_t i = threadIdx.x; i < classes - classes % width; i += kThreads) mine = larger(row[i], mine);
    best[threadIdx.x / width][lanes.lane] = mine;
    __syncthreads();
    for (unsigned group = 0; group < kGroups<Real>; ++group) mine = larger(best[group][lanes.lane], mine);
    __syncthreads();
    for (unsigned half = width / 2; half > 0; half /= 2) mine = larger(mine, lanes.from((lanes.lane + half) % width, mine));
    return lanes.from(0, mine);
}

/// Does what sum_many_classes does: the pieces are computed side by side, and added in order.
template <typename Real>
__global__ void sum_long_rows(DistillCall<Real> call) {
    constexpr unsigned width = kWidth<Real>, groups = kGroups<Real>;
    __shared__ Real found[groups][4][width];
    __shared__ double sums[4];
    __shared__ long long places[groups];
    const std::size_t u = blockIdx.x, classes = call.classes;
    const unsigned group = threadIdx.x / width;
    const Lanes<width> lanes;
    const Real *t = call.teacher + u * classes, *s = call.student + u * classes;
    const Real t_max = largest_of_block(t, classes, lanes), s_max = largest_of_block(s, classes, lanes);
    const Pieces<Real> pieces{t, s, t_max, s_max, classes};
    double total = 0;  // of a lane and one of the four sums, which is the number of the group
    for (std::size_t first = 0; first < pieces.count(); first += groups) {
        const std::size_t left = pieces.count() - first, here = left < groups ? left : groups;
        if (group < here) {
            Real terms[4];
            pieces.terms(first + group, lanes.lane, terms);
            for (int k = 0; k < 4; ++k) found[group][k][lanes.lane] = terms[k];
        }
        __syncthreads();
        if (group < 4)
            for (std::size_t g = 0; g < here; ++g) total += static_cast<double>(found[g][group][lanes.lane]);
        __syncthreads();
    }
    std::size_t i = threadIdx.x;
    while (i < classes && t[i] != t_max) i += kThreads;
    const double sum = lanes.sum(total);
    const long long place = lanes.smallest(static_cast<long long>(i));
    if (lanes.lane == 0) places[group] = place;
    if (lanes.lane == 0 && group < 4) sums[group] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    long long label = places[0];
    for (unsigned g = 1; g < groups; ++g) label = places[g] < label ? places[g] : label;
    if (static_cast<std::size_t>(label) >= classes) label = 0;  // NaN
    finish_row<Real>(call, u, {sums[0], sums[1], sums[2], sums[1] - sums[3], 1, t_max, s_max, label});
}

}  // namespace fedbench::cuda
