// Compiled with -mavx2; called only where the machine has it.
#include "avx2.hpp"
#include "rows.hpp"

namespace fedbench::distillation {

template <>
Distilled distill_avx2<float>(std::span<const float> student, std::span<const float> teacher, std::size_t classes, Alphas alphas,
                              const DistillRows<float>& out, Teacher kind) {
    return run<float>(student, teacher, classes, alphas, out, kind);
}
template <>
Distilled distill_avx2<double>(std::span<const double> student, std::span<const double> teacher, std::size_t classes, Alphas alphas,
                               const DistillRows<double>& out, Teacher kind) {
    return run<double>(student, teacher, classes, alphas, out, kind);
}

}  // namespace fedbench::distillation
