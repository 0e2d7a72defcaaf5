#include "fedbench/accumulate.hpp"

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "lanes.hpp"

namespace fedbench {

namespace {

/// Plain C++; std::fma is exact everywhere, in hardware or not.
template <typename Real>
struct PortableOps {
    using Values = std::array<Real, lanes::kLanes>;
    using Sums = std::array<double, lanes::kLanes>;

    static Values zero() { return {}; }
    static Sums zero_sums() { return {}; }
    static Real broadcast(Real w) { return w; }
    static const Real* load(const Real* p) { return p; }
    static void store(Real* p, const Values& v) {
        for (std::size_t j = 0; j < lanes::kLanes; ++j) p[j] = v[j];
    }
    static Values fma(Real w, const Real* v, Values total) {
        for (std::size_t j = 0; j < lanes::kLanes; ++j) total[j] = std::fma(w, v[j], total[j]);
        return total;
    }
    static Values sub(const Real* a, const Real* b) {
        Values difference;
        for (std::size_t j = 0; j < lanes::kLanes; ++j) difference[j] = a[j] - b[j];
        return difference;
    }
    template <typename A, typename B>
    static Sums add_products(Sums sums, const A& a, const B& b) {
        for (std::size_t j = 0; j < lanes::kLanes; ++j) sums[j] = std::fma(static_cast<double>(a[j]), static_cast<double>(b[j]), sums[j]);
        return sums;
    }
    static void spill(const Sums& sums, double (&lane)[lanes::kLanes]) {
        for (std::size_t j = 0; j < lanes::kLanes; ++j) lane[j] = sums[j];
    }
    template <typename T>
    static T fma1(T a, T b, T c) {
        return std::fma(a, b, c);
    }
};

}  // namespace

template <typename Real>
double lanes::weighted_sum_from(std::span<const double> weights, std::span<const Real* const> vectors, std::size_t from,
                                std::span<Real> out, InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa != InstructionSet::portable) return weighted_sum_avx2<Real>(weights, vectors, out, from);
#endif
    (void)isa;
    return weighted_sum<Real, PortableOps<Real>>(weights, vectors, out, from);
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
    return lanes::dot<Real, PortableOps<Real>>(a, b);
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
    return lanes::movement<Real, PortableOps<Real>>(x, base, delta);
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
