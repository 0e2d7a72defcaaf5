#include "fedbench/optimise.hpp"

#include <algorithm>

#include "checks.hpp"
#include "loops.hpp"

namespace fedbench {

namespace {

using optimising::clip_of;
using optimising::factors_of;
using optimising::Maximum;

/// Calls part(begin, count) for blocks from the end to the beginning: after the norm's pass over g,
/// its end is still in a cache.
template <typename Part>
void backwards(std::size_t d, const Part& part) {
    constexpr std::size_t block = 1 << 16;
    for (std::size_t end = d; end > 0;) {
        const std::size_t begin = (end - 1) / block * block;
        part(begin, end - begin);
        end = begin;
    }
}

}  // namespace

template <typename Real>
Clip clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, InstructionSet isa) {
    check_length("g", g.size(), x.size());
    const Clip clip = clip_of(dot<Real>(g, g, isa), bound);
    const Real scale = static_cast<Real>(clip.factor), real_rate = static_cast<Real>(rate);
    backwards(x.size(), [&](std::size_t i, std::size_t count) { loops<Real>(isa).sgd(&x[i], &g[i], count, scale, real_rate); });
    return clip;
}

template <typename Real>
Clip clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound,
               InstructionSet isa) {
    check_length("g", g.size(), x.size());
    check_moments(x.size(), moments, rule);
    if (!moments.vhat.empty()) throw std::invalid_argument("vhat: clip_adam has no maximum");
    const Clip clip = clip_of(dot<Real>(g, g, isa), bound);
    const auto factors = factors_of<Real>(rule, -rule.rate, clip.factor);
    backwards(x.size(), [&](std::size_t i, std::size_t count) {
        loops<Real>(isa).adaptive(
            {&x[i], &moments.m[i], &moments.v[i], nullptr, &g[i], count, Maximum::none, momentum_of(rule), rule.second}, factors);
    });
    return clip;
}

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   InstructionSet isa) {
    check_length("direction", direction.size(), x.size());
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    loops<Real>(isa).adaptive({x.data(), moments.m.data(), moments.v.data(), moments.vhat.data(), direction.data(), x.size(), maximum,
                               momentum_of(rule), rule.second},
                              factors_of<Real>(rule, rule.rate, 1));
}

template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, InstructionSet isa) {
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    const auto factors = factors_of<Real>(rule, rule.rate, 1);
    const Loops<Real>& use = loops<Real>(isa);
    Real block[lanes::kBlock];
    for (std::size_t begin = 0; begin < x.size(); begin += lanes::kBlock) {
        const std::size_t count = std::min(lanes::kBlock, x.size() - begin);
        use.weighted_sum(weights, vectors, {block, count}, begin);
        Real* vhat = maximum == Maximum::none ? nullptr : moments.vhat.data() + begin;
        use.adaptive({x.data() + begin, moments.m.data() + begin, moments.v.data() + begin, vhat, block, count, maximum, momentum_of(rule),
                      rule.second},
                     factors);
    }
}

#define FEDBENCH_INSTANTIATE(Real)                                                                                                        \
    template Clip clip_sgd<Real>(std::span<Real>, std::span<const Real>, double, double, InstructionSet);                                 \
    template Clip clip_adam<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, double, InstructionSet); \
    template void adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, bool,                \
                                      InstructionSet);                                                                                    \
    template void sum_adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const double>, std::span<const Real* const>,   \
                                          const AdamRule&, bool, InstructionSet);
FEDBENCH_INSTANTIATE(float)
FEDBENCH_INSTANTIATE(double)
#undef FEDBENCH_INSTANTIATE

}  // namespace fedbench
