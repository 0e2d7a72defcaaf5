#include "fedbench/distill.hpp"

#include <stdexcept>
#include <string>

#include "instruction_sets.hpp"
#include "run.hpp"

namespace fedbench {

namespace {

void check_size(const char* name, std::size_t got, std::size_t wanted) {
    if (got != wanted)
        throw std::invalid_argument(std::string("distill: expected ") + std::to_string(wanted) + " elements in " + name + ", got " +
                                    std::to_string(got));
}

void check_optional(const char* name, std::size_t got, std::size_t wanted) {
    if (got != 0) check_size(name, got, wanted);
}

template <typename Real>
void check_sizes(std::size_t student, std::size_t teacher, std::size_t classes, const DistillRows<Real>& out,
                 const DistillWorkspace<Real>& workspace) {
    const std::size_t rows = workspace.rows.size();
    if (classes < 2) throw std::invalid_argument("distill: expected at least 2 classes, got " + std::to_string(classes));
    if (rows == 0) throw std::invalid_argument("distill: expected at least one row, got none");
    check_size("student", student, rows * classes);
    check_size("teacher", teacher, rows * classes);
    check_size("grad", out.grad.size(), rows * classes);
    check_optional("probabilities", out.probabilities.size(), rows * classes);
    check_optional("label", out.label.size(), rows);
    check_optional("entropy", out.entropy.size(), rows);
    check_optional("kl", out.kl.size(), rows);
    check_optional("ce", out.ce.size(), rows);
    check_size("workspace", workspace.logits.size(), distill_workspace(rows, classes));
}

}  // namespace

std::size_t distill_workspace(std::size_t rows, std::size_t classes) { return classes <= distillation::kFew ? rows * classes : classes; }

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  const DistillWorkspace<Real>& workspace, InstructionSet isa) {
    check_sizes(student.size(), teacher.size(), rule.classes, out, workspace);
#if defined(FEDBENCH_HAVE_X86)
    if (isa == InstructionSet::avx512) return distillation::distill_avx512<Real>(student, teacher, rule, out, workspace);
    if (isa == InstructionSet::avx2) return distillation::distill_avx2<Real>(student, teacher, rule, out, workspace);
#endif
    (void)isa;
    return distillation::run<Real>(student, teacher, rule, out, workspace);
}

template Distilled distill<float>(std::span<const float>, std::span<const float>, const DistillRule&, const DistillRows<float>&,
                                  const DistillWorkspace<float>&, InstructionSet);
template Distilled distill<double>(std::span<const double>, std::span<const double>, const DistillRule&, const DistillRows<double>&,
                                   const DistillWorkspace<double>&, InstructionSet);

}  // namespace fedbench
