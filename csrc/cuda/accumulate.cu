// The host's side of weighted_sum, dot and movement.
#include "sums.cuh"

namespace fedbench::cuda {

template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, Stream stream) {
    return weighted("weighted_sum", weights, vectors, out.size(), Write<Real>{out.data()}, stream);
}

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, Stream stream) {
    check_length("b", b.size(), a.size());
    return sums_of("dot", DotSource<Real>{a.data(), b.data()}, a.size(), stream)[0];
}

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, Stream stream) {
    check_length("base", base.size(), x.size());
    check_length("delta", delta.size(), x.size());
    const auto sums = sums_of("movement", MovementSource<Real>{x.data(), base.data(), delta.data()}, x.size(), stream);
    return {sums[0], sums[1], sums[2], sums[3]};
}

template double weighted_sum<float>(std::span<const double>, std::span<const float* const>, std::span<float>, Stream);
template double weighted_sum<double>(std::span<const double>, std::span<const double* const>, std::span<double>, Stream);
template double dot<float>(std::span<const float>, std::span<const float>, Stream);
template double dot<double>(std::span<const double>, std::span<const double>, Stream);
template Movement movement<float>(std::span<const float>, std::span<const float>, std::span<const float>, Stream);
template Movement movement<double>(std::span<const double>, std::span<const double>, std::span<const double>, Stream);

}  // namespace fedbench::cuda
