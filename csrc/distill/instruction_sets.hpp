// The same function compiled for each instruction set.
#pragma once

#include <type_traits>

#include "fedbench/distill.hpp"

namespace fedbench::distillation {

/// `distill` for one instruction set. Sizes are not checked.
template <typename Real>
using Run = Distilled (*)(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule,
                          const DistillRows<Real>& out, const DistillWorkspace<Real>& workspace);

Run<float> run_avx2(std::type_identity<float>);
Run<double> run_avx2(std::type_identity<double>);
Run<float> run_avx512(std::type_identity<float>);
Run<double> run_avx512(std::type_identity<double>);

}  // namespace fedbench::distillation
