// Server-side reductions over model vectors: the only ones an algorithm may use.
//
// Contract, the same bits on every instruction set and for every caller:
//   weighted_sum   out[i] = fma(w[K-1], v[K-1][i], .. fma(w[0], v[0][i], 0)), weights rounded to the vectors' type first
//   dot            products and sums in float64; element i of a block goes to lane i % 8 with one fma, the lanes are added
//                  as ((0+4)+(2+6)) + ((1+5)+(3+7)), the blocks one after another
// NaN and infinity propagate as IEEE arithmetic has it. Nothing is allocated. Thread-safe: no
// state.
#pragma once

#include <cstddef>
#include <span>

#include "fedbench/instruction_set.hpp"

namespace fedbench {

namespace lanes {
inline constexpr std::size_t kLanes = 8, kBlock = 4096;  // lanes and block of a sum of products
}

/// Writes the weighted sum of K vectors of length d in one pass over memory, and returns the
/// squared L2 norm of the result. `out` may not alias a vector. O(K d).
template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out,
                    InstructionSet isa = instruction_set());

/// Returns sum_i a[i] b[i] in float64; a and b may be the same vector. O(d).
template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, InstructionSet isa = instruction_set());

/// Sums over the elements of u = x - base (in the vectors' type) and of delta; see `movement`.
struct Movement {
    double x2, moved2, delta2, product;  // |x|^2, |u|^2, |delta|^2, u . delta
};

/// Computes in one pass how far the server has moved since `base`, and how well `delta` agrees with
/// it [FedAC]. Each sum is made as in `dot`. O(d).
template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, InstructionSet isa = instruction_set());

/// Writes the product of every row of a matrix (rows, columns) with a vector (columns).
///
/// The order of the sums is that of OpenBLAS on x86-64 with fused multiply-adds, with which the
/// first records were made. Other libraries and processors have other orders. Rows are taken in
/// fours: product i goes to chain i % 4 with one fma, the chains are added as (0+2) + (1+3). Of
/// what is left, two rows have two chains each, and a last one four, with a multiplication and an
/// addition. The products of the last columns % 4 are added at the end. An only row has one chain
/// of fma. O(rows columns).
void row_dots(std::span<const double> matrix, std::span<const double> vector, std::span<double> out);

}  // namespace fedbench
