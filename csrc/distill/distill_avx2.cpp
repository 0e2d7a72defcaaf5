// Compiled with -mavx2 -mfma; called only where the machine has them.
#include "instruction_sets.hpp"
#include "run.hpp"

namespace fedbench::distillation {

Run<float> run_avx2(std::type_identity<float>) { return run<float>; }
Run<double> run_avx2(std::type_identity<double>) { return run<double>; }

}  // namespace fedbench::distillation
