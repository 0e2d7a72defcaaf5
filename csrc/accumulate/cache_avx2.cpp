// Compiled with -mavx2 -mfma; called only where the machine has both.
#include "cache_loops.hpp"

namespace fedbench::caching {

template <>
void update_avx2<float>(const CacheUpdate<float>& u, std::span<float> out) {
    update(u, out);
}
template <>
void update_avx2<double>(const CacheUpdate<double>& u, std::span<double> out) {
    update(u, out);
}

}  // namespace fedbench::caching
