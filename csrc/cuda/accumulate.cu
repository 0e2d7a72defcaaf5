// The host's side of weighted_sum, dot and movement.
#include "weighted.cuh"

namespace fedbench::cuda {

namespace later {

template <typename Real>
void weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, double* norm2, Stream stream) {
    weighted("weighted_sum", weights, vectors, out.size(), out.data(), Keep{}, true, norm2, stream);
}

template <typename Real>
void dot(std::span<const Real> a, std::span<const Real> b, double* product, Stream stream) {
    check_length("b", b.size(), a.size());
    const Sums<DotSource<Real>> sums(a.size(), stream);
    sums.launch_with("dot", {a.data(), b.data()}, Leave<1>{product});
}

template <typename Real>
void movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, double* numbers, Stream stream) {
    check_length("base", base.size(), x.size());
    check_length("delta", delta.size(), x.size());
    const Sums<MovementSource<Real>> sums(x.size(), stream);
    sums.launch_with("movement", {x.data(), base.data(), delta.data()}, Leave<4>{numbers});
}

}  // namespace later

template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, Stream stream) {
    const Numbers<1> norm2(stream);
    later::weighted_sum<Real>(weights, vectors, out, norm2.data(), stream);
    return norm2.wait("weighted_sum")[0];
}

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, Stream stream) {
    const Numbers<1> product(stream);
    later::dot<Real>(a, b, product.data(), stream);
    return product.wait("dot")[0];
}

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, Stream stream) {
    const Numbers<4> numbers(stream);
    later::movement<Real>(x, base, delta, numbers.data(), stream);
    const auto found = numbers.wait("movement");
    return {found[0], found[1], found[2], found[3]};
}

#define FEDBENCH_INSTANTIATE(Real)                                                                                                        \
    template void later::weighted_sum<Real>(std::span<const double>, std::span<const Real* const>, std::span<Real>, double*, Stream);    \
    template void later::dot<Real>(std::span<const Real>, std::span<const Real>, double*, Stream);                                       \
    template void later::movement<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, double*, Stream);           \
    template double weighted_sum<Real>(std::span<const double>, std::span<const Real* const>, std::span<Real>, Stream);                  \
    template double dot<Real>(std::span<const Real>, std::span<const Real>, Stream);                                                     \
    template Movement movement<Real>(std::span<const Real>, std::span<const Real>, std::span<const Real>, Stream);
FEDBENCH_INSTANTIATE(float)
FEDBENCH_INSTANTIATE(double)
#undef FEDBENCH_INSTANTIATE

}  // namespace fedbench::cuda
