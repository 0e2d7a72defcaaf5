// Compiled with -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma; called only where the machine has
// them.
#include "instruction_sets.hpp"
#include "run.hpp"

namespace fedbench::distillation {

template <>
Distilled distill_avx512<float>(std::span<const float> student, std::span<const float> teacher, const DistillRule& rule,
                                const DistillRows<float>& out, const DistillWorkspace<float>& workspace) {
    return run<float>(student, teacher, rule, out, workspace);
}
template <>
Distilled distill_avx512<double>(std::span<const double> student, std::span<const double> teacher, const DistillRule& rule,
                                 const DistillRows<double>& out, const DistillWorkspace<double>& workspace) {
    return run<double>(student, teacher, rule, out, workspace);
}

}  // namespace fedbench::distillation
