#include "fedbench/distill.hpp"

#include "checks.hpp"
#include "instruction_sets.hpp"
#include "run.hpp"

namespace fedbench {

namespace {

template <typename Real>
distillation::Run<Real> run_for([[maybe_unused]] InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa == InstructionSet::avx512) return distillation::run_avx512(std::type_identity<Real>{});
    if (isa == InstructionSet::avx2) return distillation::run_avx2(std::type_identity<Real>{});
#endif
    return distillation::run<Real>;
}

}  // namespace

std::size_t distill_workspace(std::size_t rows, std::size_t classes) { return classes <= distillation::kFew ? rows * classes : classes; }

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  const DistillWorkspace<Real>& workspace, InstructionSet isa) {
    const std::size_t rows = workspace.rows.size();
    distillation::check_sizes(student.size(), teacher.size(), rows, rule.classes, out);
    distillation::check_size("workspace", workspace.logits.size(), distill_workspace(rows, rule.classes));
    return run_for<Real>(isa)(student, teacher, rule, out, workspace);
}

template Distilled distill<float>(std::span<const float>, std::span<const float>, const DistillRule&, const DistillRows<float>&,
                                  const DistillWorkspace<float>&, InstructionSet);
template Distilled distill<double>(std::span<const double>, std::span<const double>, const DistillRule&, const DistillRows<double>&,
                                   const DistillWorkspace<double>&, InstructionSet);

}  // namespace fedbench
