#include "fedbench/accumulate.hpp"

#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "loops.hpp"

namespace fedbench {

template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, InstructionSet isa) {
    check_weights(weights.size(), vectors.size());
    return loops<Real>(isa).weighted_sum(weights, vectors, out, 0);
}

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b, InstructionSet isa) {
    if (a.size() != b.size())
        throw std::invalid_argument("dot: expected vectors of one length, got " + std::to_string(a.size()) + " and " +
                                    std::to_string(b.size()));
    return loops<Real>(isa).dot(a, b);
}

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta, InstructionSet isa) {
    if (x.size() != base.size() || x.size() != delta.size())
        throw std::invalid_argument("movement: expected vectors of one length, got " + std::to_string(x.size()) + ", " +
                                    std::to_string(base.size()) + " and " + std::to_string(delta.size()));
    return loops<Real>(isa).movement(x, base, delta);
}

template Movement movement<float>(std::span<const float>, std::span<const float>, std::span<const float>, InstructionSet);
template Movement movement<double>(std::span<const double>, std::span<const double>, std::span<const double>, InstructionSet);
template double weighted_sum<float>(std::span<const double>, std::span<const float* const>, std::span<float>, InstructionSet);
template double weighted_sum<double>(std::span<const double>, std::span<const double* const>, std::span<double>, InstructionSet);
template double dot<float>(std::span<const float>, std::span<const float>, InstructionSet);
template double dot<double>(std::span<const double>, std::span<const double>, InstructionSet);

}  // namespace fedbench
