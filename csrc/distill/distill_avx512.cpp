// Compiled with -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma; called only where the machine has
// them.
#include "instruction_sets.hpp"
#include "run.hpp"

namespace fedbench::distillation {

Run<float> run_avx512(std::type_identity<float>) { return run<float>; }
Run<double> run_avx512(std::type_identity<double>) { return run<double>; }

}  // namespace fedbench::distillation
