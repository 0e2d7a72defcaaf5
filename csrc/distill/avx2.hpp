#pragma once

#include "fedbench/distill.hpp"

namespace fedbench::distillation {

template <typename Real>
Distilled distill_avx2(std::span<const Real> student, std::span<const Real> teacher, std::size_t classes, Alphas alphas,
                       const DistillRows<Real>& out, Teacher kind);

}  // namespace fedbench::distillation
