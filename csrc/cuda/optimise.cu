// The host's side of the optimiser steps and of the cache: the same checks and factors as on the
// CPU.
#include "../accumulate/moments.hpp"
#include "elements.cuh"
#include "sums.cuh"

namespace fedbench::cuda {

namespace {

using optimising::Maximum;
using optimising::Step;

/// Calls body(adapt) with the step's Adapt, whose type has the step's Kind.
template <typename Real, typename Body>
void with_adapt(const Step<Real>& step, const optimising::Factors<Real>& factors, const Body& body) {
    optimising::with_kind_of(step, [&]<typename Kind>(Kind) { body(Adapt<Real, Kind>{step, factors}); });
}

template <typename Real>
void adapt(const char* name, const Step<Real>& step, const optimising::Factors<Real>& factors, Stream stream) {
    with_adapt(step, factors, [&]<typename Kind>(const Adapt<Real, Kind>& each) {
        launch(name, adapt_elements<Real, Kind>, blocks_for(step.d, kThreads), kThreads, stream, each);
    });
    finish(name, stream);
}

template <typename Real>
Step<Real> step_of(std::span<Real> x, const Moments<Real>& moments, const Real* g, Maximum maximum, const AdamRule& rule) {
    return {x.data(), moments.m.data(), moments.v.data(), moments.vhat.data(), g, x.size(), maximum, momentum_of(rule), rule.second};
}

}  // namespace

template <typename Real>
Clip clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, Stream stream) {
    check_length("g", g.size(), x.size());
    const Clip clip = optimising::clip_of(dot(g, g, stream), bound);
    launch("clip_sgd", descend_elements<Real>, blocks_for(x.size(), kThreads), kThreads, stream, x.data(), g.data(), x.size(),
           static_cast<Real>(clip.factor), static_cast<Real>(rate));
    finish("clip_sgd", stream);
    return clip;
}

template <typename Real>
Clip clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound,
               Stream stream) {
    check_length("g", g.size(), x.size());
    check_moments(x.size(), moments, rule);
    if (!moments.vhat.empty()) throw std::invalid_argument("vhat: clip_adam has no maximum");
    const Clip clip = optimising::clip_of(dot(g, g, stream), bound);
    adapt("clip_adam", step_of(x, moments, g.data(), Maximum::none, rule), optimising::factors_of<Real>(rule, -rule.rate, clip.factor),
          stream);
    return clip;
}

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   Stream stream) {
    check_length("direction", direction.size(), x.size());
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    adapt("adaptive_step", step_of(x, moments, direction.data(), maximum, rule), optimising::factors_of<Real>(rule, rule.rate, 1), stream);
}

template <typename Real>
double sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                         std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream) {
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    const auto step = step_of<Real>(x, moments, nullptr, maximum, rule);
    double norm2 = 0;
    with_adapt(step, optimising::factors_of<Real>(rule, rule.rate, 1),
               [&](const auto& use) { norm2 = weighted("sum_adaptive_step", weights, vectors, x.size(), use, stream); });
    return norm2;
}

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream) {
    check_cache(update, out.size());
    const Temporary<Real> weights(rounded<Real>(update.weights), stream);
    const Temporary<const Real*> vectors(std::vector<const Real*>(update.vectors.begin(), update.vectors.end()), stream);
    const Temporary<Real*> rows(std::vector<Real*>(update.rows.begin(), update.rows.end()), stream);
    const Arrivals<Real> arrivals{weights.data(),    vectors.data(), rows.data(), update.vectors.size(),
                                  update.sum.data(), update.scale,   update.order};
    launch("update_cache", update_elements<Real>, blocks_for(out.size(), kThreads), kThreads, stream, arrivals, out.data(), out.size());
    finish("update_cache", stream);
}

#define FEDBENCH_INSTANTIATE(Real)                                                                                                        \
    template Clip clip_sgd<Real>(std::span<Real>, std::span<const Real>, double, double, Stream);                                         \
    template Clip clip_adam<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, double, Stream);         \
    template void adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, bool, Stream);       \
    template double sum_adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const double>, std::span<const Real* const>, \
                                            const AdamRule&, bool, Stream);                                                               \
    template void update_cache<Real>(const CacheUpdate<Real>&, std::span<Real>, Stream);
FEDBENCH_INSTANTIATE(float)
FEDBENCH_INSTANTIATE(double)
#undef FEDBENCH_INSTANTIATE

}  // namespace fedbench::cuda
