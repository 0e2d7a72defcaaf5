// The same function compiled for each instruction set.
#pragma once

#include "fedbench/distill.hpp"

namespace fedbench::distillation {

template <typename Real>
Distilled distill_avx2(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                       const DistillWorkspace<Real>& workspace);
template <typename Real>
Distilled distill_avx512(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule,
                         const DistillRows<Real>& out, const DistillWorkspace<Real>& workspace);

}  // namespace fedbench::distillation
