// Implements what distill.hpp promises; a file per instruction set includes it. The namespace is
// unnamed on purpose: see simd/registers.hpp.
#pragma once

#include "few_classes.hpp"
#include "given_probabilities.hpp"
#include "many_classes.hpp"

namespace fedbench::distillation {
namespace {

template <typename Real>
Distilled run(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
              const DistillWorkspace<Real>& workspace) {
    if (rule.kind == Teacher::probabilities) return given_probabilities(student, teacher, rule, out, workspace);
    if (rule.classes <= kFew) return few_classes(student, teacher, rule, out, workspace);
    return many_classes(student, teacher, rule, out, workspace);
}

}  // namespace
}  // namespace fedbench::distillation
