// A server's cache of every client's newest vector, replaced and averaged in one pass [CA2FL; MIFA;
// ACE].
//
// K arrivals in order, arrival k of client c(k) with vector d_k; h_c is that client's cached row, S
// the float64 sum of all rows.
//   deferred    v = scale S + sum_k w_k (d_k - h_c(k)), all h as they are before the call; then h_c(k) = d_k in order   [CA2FL, default]
//   immediate   the same, but each arrival replaces its row at once: a second one of a client subtracts the first one's vector
//   newest      h_c(k) = d_k in order; then v = scale S                                                                [MIFA, ACE]
// In all of them S grows by d_k - (what it replaces). v is the mean of the rows, calibrated by the
// arrivals or not.
//
// Contract: elementwise; scale S is float64 and rounded to the vectors' type, then one fma per
// arrival in order with the difference rounded first, the weights rounded to the vectors' type; S
// takes each difference in float64. The same bits on every instruction set. NaN and infinity
// propagate, and stay in S: a caller who may meet them checks first. Nothing is allocated. No
// state. O(K d).
#pragma once

#include <span>

#include "fedbench/instruction_set.hpp"

namespace fedbench {

enum class CacheOrder { deferred, immediate, newest };

/// `vectors` and `rows` have K pointers each to d elements; `rows` repeats a pointer where a client
/// arrives again and is overwritten, as `sum` is. No vector, row, `sum` or `out` may overlap
/// another (repeated rows apart). `weights` is empty for `newest`. Throws std::invalid_argument if
/// the numbers of weights, vectors and rows do not agree.
template <typename Real>
struct CacheUpdate {
    std::span<const double> weights;
    std::span<const Real* const> vectors;
    std::span<Real* const> rows;
    std::span<double> sum;  // (d)
    double scale;
    CacheOrder order;
};

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, InstructionSet isa = instruction_set());

}  // namespace fedbench
