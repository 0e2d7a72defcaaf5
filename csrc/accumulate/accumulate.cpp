#include "fedbench/accumulate.hpp"

#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "lanes.hpp"

namespace fedbench {

template <typename Real>
double lanes::weighted_sum_from(std::span<const double> weights, std::span<const Real* const> vectors, std::size_t from,
                                std::span<Real> out, InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return weighted_sum_avx2<Real>(weights, vectors, out, from);
#endif
    (void)isa;
    return weighted_sum(weights, vectors, out, from);
}

template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, InstructionSet isa) {
    check_weights(weights.size(), vectors.size());
    return lanes::weighted_sum_from<Real>(weights, vectors, 0, out, isa);
}

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, InstructionSet isa) {
    if (a.size() != b.size())
        throw std::invalid_argument("dot: expected vectors of one length, got " + std::to_string(a.size()) + " and " +
                                    std::to_string(b.size()));
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return lanes::dot_avx2<Real>(a, b);
#endif
    (void)isa;
    return lanes::dot<Real>(a, b);
}

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, InstructionSet isa) {
    if (x.size() != base.size() || x.size() != delta.size())
        throw std::invalid_argument("movement: expected vectors of one length, got " + std::to_string(x.size()) + ", " +
                                    std::to_string(base.size()) + " and " + std::to_string(delta.size()));
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return lanes::movement_avx2<Real>(x, base, delta);
#endif
    (void)isa;
    return lanes::movement<Real>(x, base, delta);
}

template Movement movement<float>(std::span<const float>, std::span<const float>, std::span<const float>, InstructionSet);
template Movement movement<double>(std::span<const double>, std::span<const double>, std::span<const double>, InstructionSet);
template double lanes::weighted_sum_from<float>(std::span<const double>, std::span<const float* const>, std::size_t, std::span<float>,
                                                InstructionSet);
template double lanes::weighted_sum_from<double>(std::span<const double>, std::span<const double* const>, std::size_t, std::span<double>,
                                                 InstructionSet);
template double weighted_sum<float>(std::span<const double>, std::span<const float* const>, std::span<float>, InstructionSet);
template double weighted_sum<double>(std::span<const double>, std::span<const double* const>, std::span<double>, InstructionSet);
template double dot<float>(std::span<const float>, std::span<const float>, InstructionSet);
template double dot<double>(std::span<const double>, std::span<const double>, InstructionSet);

}  // namespace fedbench
