// Compiled with -mavx2 -mfma; called only where the machine has both.
#include "loops.hpp"

namespace fedbench {

const Loops<float>& loops_avx2(std::type_identity<float>) { return kLoops<float>; }
const Loops<double>& loops_avx2(std::type_identity<double>) { return kLoops<double>; }

}  // namespace fedbench
