#include "fedbench/distill.hpp"

#include <stdexcept>
#include <string>

#include "avx2.hpp"
#include "rows.hpp"

namespace fedbench {

namespace {

void check_size(const char* name, std::size_t got, std::size_t wanted) {
    if (got != wanted)
        throw std::invalid_argument(std::string("distill: expected ") + std::to_string(wanted) + " elements in " + name + ", got " +
                                    std::to_string(got));
}

template <typename Real>
void check_sizes(std::size_t student, std::size_t teacher, std::size_t classes, const DistillRows<Real>& out) {
    const std::size_t rows = out.label.size();
    if (classes < 2) throw std::invalid_argument("distill: expected at least 2 classes, got " + std::to_string(classes));
    if (rows == 0) throw std::invalid_argument("distill: expected at least one row, got none");
    check_size("student", student, rows * classes);
    check_size("teacher", teacher, rows * classes);
    check_size("grad", out.grad.size(), rows * classes);
    check_size("probabilities", out.probabilities.size(), rows * classes);
    check_size("entropy", out.entropy.size(), rows);
    check_size("kl", out.kl.size(), rows);
    check_size("ce", out.ce.size(), rows);
    check_size("workspace", out.workspace.size(), 2 * rows);
}

}  // namespace

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, std::size_t classes, Alphas alphas,
                  const DistillRows<Real>& out, Teacher kind, InstructionSet isa) {
    check_sizes(student.size(), teacher.size(), classes, out);
#if defined(FEDBENCH_HAVE_AVX2)
    if (isa == InstructionSet::avx2) return distillation::distill_avx2<Real>(student, teacher, classes, alphas, out, kind);
#endif
    (void)isa;
    return distillation::run<Real>(student, teacher, classes, alphas, out, kind);
}

template Distilled distill<float>(std::span<const float>, std::span<const float>, std::size_t, Alphas, const DistillRows<float>&, Teacher,
                                  InstructionSet);
template Distilled distill<double>(std::span<const double>, std::span<const double>, std::size_t, Alphas, const DistillRows<double>&,
                                   Teacher, InstructionSet);

}  // namespace fedbench
