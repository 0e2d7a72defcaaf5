// Compiled with -mavx2 -mfma; called only where the machine has both.
#include "lanes.hpp"

namespace fedbench::lanes {

template <>
double weighted_sum_avx2<float>(std::span<const double> weights, std::span<const float* const> vectors, std::span<float> out,
                                std::size_t from) {
    return weighted_sum(weights, vectors, out, from);
}
template <>
double weighted_sum_avx2<double>(std::span<const double> weights, std::span<const double* const> vectors, std::span<double> out,
                                 std::size_t from) {
    return weighted_sum(weights, vectors, out, from);
}
template <>
Movement movement_avx2<float>(std::span<const float> x, std::span<const float> base, std::span<const float> delta) {
    return movement(x, base, delta);
}
template <>
Movement movement_avx2<double>(std::span<const double> x, std::span<const double> base, std::span<const double> delta) {
    return movement(x, base, delta);
}
template <>
double dot_avx2<float>(std::span<const float> a, std::span<const float> b) {
    return dot(a, b);
}
template <>
double dot_avx2<double>(std::span<const double> a, std::span<const double> b) {
    return dot(a, b);
}

}  // namespace fedbench::lanes
