#include "fedbench/cache.hpp"

#include <stdexcept>
#include <string>

#include "cache_loops.hpp"

namespace fedbench {

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, InstructionSet isa) {
    const std::size_t weights = update.order == CacheOrder::newest ? 0 : update.vectors.size();
    if (update.weights.size() != weights || update.rows.size() != update.vectors.size())
        throw std::invalid_argument("update_cache: expected " + std::to_string(weights) + " weights and " +
                                    std::to_string(update.vectors.size()) + " rows for " + std::to_string(update.vectors.size()) +
                                    " vectors, got " + std::to_string(update.weights.size()) + " and " +
                                    std::to_string(update.rows.size()));
    if (update.sum.size() != out.size())
        throw std::invalid_argument("sum: expected length " + std::to_string(out.size()) + ", got " + std::to_string(update.sum.size()));
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return caching::update_avx2<Real>(update, out);
#endif
    (void)isa;
    caching::update(update, out);
}

template void update_cache<float>(const CacheUpdate<float>&, std::span<float>, InstructionSet);
template void update_cache<double>(const CacheUpdate<double>&, std::span<double>, InstructionSet);

}  // namespace fedbench
