// Uncertainty-aware distillation [FedEcho, eq. (2)-(4)]: loss and gradient for one batch of logits.
//
//   P = softmax(teacher), Q = softmax(student)           B rows, C classes, row-major
//   H_u = -sum_c P log P, Hhat = mean_u H_u / log C      0 log 0 = 0; Hhat is not clamped
//   alpha = Hhat alpha_max + (1 - Hhat) alpha_min        one scalar per batch, a constant of the gradient
//   loss = mean_u alpha KL(P_u || Q_u) + (1 - alpha) CE(Q_u, label_u)
//   grad = (Q - alpha P - (1 - alpha) onehot(label)) / B
//
// label is the argmax of what the teacher is given as (logits or probabilities), the lowest index
// on ties.
//
// Contract: the same bits on every instruction set; exponentials are of the vectors' type, sums of
// a row are float64 over packs of 64 bytes, whose lanes add up to 32 terms in the vectors' type
// first; sums over rows are float64 in row order. The maximum is subtracted first, so finite logits
// of any size are fine. A NaN or infinite logit makes its row NaN; in the teacher it makes Hhat and
// so everything NaN. Labels are below C even then. Nothing is allocated, no libm. O(B C).
// Thread-safe: no state. No output or workspace may overlap an input or another output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fedbench/instruction_set.hpp"

namespace fedbench {

enum class Teacher { logits, probabilities };

struct Alphas {
    double min, max;
};

/// One row of the teacher; no meaning outside `distill`.
struct TeacherRow {
    double peak, sum, log_sum;  // maximum; E = sum of e = exp(teacher - peak); log E
    double negative_entropy;    // sum e (teacher - peak), or sum P log P
    std::int64_t label;
};

/// What `distill` writes. `grad` always; the others may be empty, and are then not written.
template <typename Real>
struct DistillRows {
    std::span<Real> grad, probabilities;  // (B, C): d loss / d student; P
    std::span<std::int64_t> label;        // (B)
    std::span<double> entropy, kl, ce;    // (B): H; KL(P || Q); -log Q[label]
};

template <typename Real>
struct DistillWorkspace {
    std::span<TeacherRow> rows;  // (B)
    std::span<Real> logits;      // distill_workspace(B, C)
};

/// Returns the elements of DistillWorkspace::logits: all of P for few classes, a row for many.
std::size_t distill_workspace(std::size_t rows, std::size_t classes);

struct Distilled {
    double loss, relative_entropy, alpha;  // relative_entropy is Hhat
};

/// The arguments of `distill` that are not arrays.
struct DistillRule {
    std::size_t classes;
    Alphas alphas;
    Teacher kind = Teacher::logits;
};

/// Distils B >= 1 rows of C >= 2 classes. `teacher` holds logits, or probabilities that are used as
/// they are. Throws std::invalid_argument if a size does not fit.
template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  const DistillWorkspace<Real>& workspace, InstructionSet isa = instruction_set());

}  // namespace fedbench
