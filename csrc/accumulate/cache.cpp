#include "fedbench/cache.hpp"

#include "cache_loops.hpp"
#include "checks.hpp"

namespace fedbench {

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, InstructionSet isa) {
    check_cache(update, out.size());
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return caching::update_avx2<Real>(update, out);
#endif
    (void)isa;
    caching::update(update, out);
}

template void update_cache<float>(const CacheUpdate<float>&, std::span<float>, InstructionSet);
template void update_cache<double>(const CacheUpdate<double>&, std::span<double>, InstructionSet);

}  // namespace fedbench
