// Uncertainty-aware distillation [FedEcho, eq. (2)-(4)]: loss and gradient for one batch of logits.
//
//   P = softmax(teacher), Q = softmax(student)           B rows, C classes, row-major
//   H_u = -sum_c P log P, Hhat = mean_u H_u / log C      0 log 0 = 0; Hhat is not clamped
//   alpha = Hhat alpha_max + (1 - Hhat) alpha_min        one scalar per batch, a constant of the gradient
//   loss = mean_u alpha KL(P_u || Q_u) + (1 - alpha) CE(Q_u, label_u)
//   grad = (Q - alpha P - (1 - alpha) onehot(label)) / B
//
// label is the argmax of what the teacher is given as (logits or probabilities), the lowest index on ties.
//
// Contract: the same bits on every instruction set; exponentials are of the vectors' type, sums go to float64 every 32 terms a lane,
// sums over rows are float64 in row order. The maximum is subtracted first, so finite logits of any size are fine. A NaN or infinite
// logit makes its row NaN; in the teacher it makes Hhat and so everything NaN. Labels are below C even then.
// Nothing is allocated, no libm. O(B C). Thread-safe: no state. No output may overlap an input or another output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fedbench/accumulate.hpp"

namespace fedbench {

enum class Teacher { logits, probabilities };

struct Alphas {
    double min, max;
};

/// What `distill` writes.
template <typename Real>
struct DistillRows {
    std::span<Real> grad, probabilities;  // (B, C): d loss / d student; P
    std::span<std::int64_t> label;        // (B)
    std::span<double> entropy, kl, ce;    // (B): H; KL(P || Q); -log Q[label]
    std::span<double> workspace;          // (2 B): no meaning afterwards
};

struct Distilled {
    double loss, relative_entropy, alpha;  // relative_entropy is Hhat
};

/// B >= 1 rows of C >= 2 classes; `teacher` holds logits, or probabilities that are used as they are.
/// Throws std::invalid_argument if a size does not fit.
template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, std::size_t classes, Alphas alphas,
                  const DistillRows<Real>& out, Teacher kind = Teacher::logits, InstructionSet isa = instruction_set());

}  // namespace fedbench
