// Compiled for AVX2 (the flags are in CMakeLists.txt); called only where the machine has it.
#include "instruction_sets.hpp"

namespace fedbench::train {

const Compiled<float>& compiled_avx2() { return kCompiled<float>; }

}  // namespace fedbench::train
