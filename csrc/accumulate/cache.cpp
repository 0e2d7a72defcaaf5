#include "fedbench/cache.hpp"

#include "checks.hpp"
#include "loops.hpp"

namespace fedbench {

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, InstructionSet isa) {
    check_cache(update, out.size());
    loops<Real>(isa).update_cache(update, out);
}

template void update_cache<float>(const CacheUpdate<float>&, std::span<float>, InstructionSet);
template void update_cache<double>(const CacheUpdate<double>&, std::span<double>, InstructionSet);

}  // namespace fedbench
