// Compiled with -mavx2; called only where the machine has it.
#include "moments.hpp"

namespace fedbench::optimising {

template <>
void sgd_avx2<float>(float* x, const float* g, std::size_t d, float scale, float rate) {
    sgd(x, g, d, scale, rate);
}
template <>
void sgd_avx2<double>(double* x, const double* g, std::size_t d, double scale, double rate) {
    sgd(x, g, d, scale, rate);
}
template <>
void adaptive_avx2<float>(const Step<float>& step, const Factors<float>& factors) {
    adaptive(step, factors);
}
template <>
void adaptive_avx2<double>(const Step<double>& step, const Factors<double>& factors) {
    adaptive(step, factors);
}

}  // namespace fedbench::optimising
