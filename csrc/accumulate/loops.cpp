#include "loops.hpp"

namespace fedbench {

template <typename Real>
const Loops<Real>& loops([[maybe_unused]] InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return loops_avx2(std::type_identity<Real>{});
#endif
    return kLoops<Real>;
}

template const Loops<float>& loops<float>(InstructionSet);
template const Loops<double>& loops<double>(InstructionSet);

}  // namespace fedbench
