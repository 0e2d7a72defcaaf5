// Optimiser steps on flat vectors, in place, one pass over memory for the step (and one for the
// norm where it clips).
//
//   clip           norm = |g|_2 over the whole vector (float64), factor = 1 if norm <= bound, else bound / norm; g' = factor g
//   clip_sgd       x -= rate g'
//   clip_adam      m = beta1 m + (1 - beta1) g';  v = beta2 v + (1 - beta2) g'^2;  x -= rate m^ / (sqrt(v^) + epsilon)
//   adaptive_step  the same with D for g' and x += ..; vhat = max(vhat, v), uncorrected [FADAS, Alg. 1; FedAdam]; u = vhat or v:
//                  x += rate m^ / (sqrt(u)^ + epsilon)
//   second         yogi: v = v - (1 - beta2) D^2 sign(v - D^2), sign(0) = 0;  adagrad: v = v + D^2, without beta2; both without bias
//                  correction [Reddi et al. 2021, Alg. 2]
//   ahead          m looks one step further: b1 m + (1 - b1) D of the new m takes the place of m^ [FedAC]; without bias correction
//   hats           m^ = m / (1 - beta1^t), sqrt(u)^ = sqrt(u) / sqrt(1 - beta2^t) with bias correction, t = 1, 2, ..; else m, sqrt(u)
//
// Contract: elementwise in the vectors' type, in the order (beta1 m) + ((1 - beta1) g), (beta2 v) +
// (((1 - beta2) g) g), v - (((1 - beta2) (g g)) sign), v + (g g), x + (c m) / (sqrt(u) s + epsilon)
// with c = +-rate / (1 - beta1^t) and s = 1 / sqrt(1 - beta2^t) rounded once; no fma: the same bits
// on every instruction set and in numpy. The norm is that of accumulate.hpp. NaN: a NaN or infinite
// element of g stays in its place without a bound; with one, a NaN makes the factor and so all of x
// NaN, an infinity makes the factor 0 and its own element NaN. max keeps a NaN of v. Vectors of one
// call have one length and may not overlap. Nothing is allocated. Thread-safe: no state. O(d).
#pragma once

#include <cstdint>
#include <span>

#include "fedbench/accumulate.hpp"

namespace fedbench {

/// The rule of the second moment.
enum class Second { adam, yogi, adagrad };

struct AdamRule {
    double rate, beta1, beta2, epsilon;
    bool bias_correction = true;
    std::int64_t step = 1;  // t, counted from 1
    bool ahead = false;     // the momentum of the step after this one, if D stayed
    Second second = Second::adam;
};

/// What a clipping step saw and did.
struct Clip {
    double norm, factor;
};

/// Vectors that an adaptive step reads and writes; `vhat` may be empty, then there is no maximum.
template <typename Real>
struct Moments {
    std::span<Real> m, v, vhat;
};

/// bound = infinity: no clipping.
template <typename Real>
Clip clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, InstructionSet isa = instruction_set());

/// moments.vhat must be empty. Throws std::invalid_argument if lengths differ or step < 1.
template <typename Real>
Clip clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound,
               InstructionSet isa = instruction_set());

/// `use_maximum`: u = vhat (AMSGrad), which must not be empty; else u = v, and vhat is kept up to
/// date if it is there.
template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   InstructionSet isa = instruction_set());

/// adaptive_step with D = weighted_sum(weights, vectors), the same bits, without a vector for D.
template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum,
                       InstructionSet isa = instruction_set());

}  // namespace fedbench
