// The host's side of the optimiser steps and of the cache: the same checks and factors as on the
// CPU.
#include "../accumulate/moments.hpp"
#include "weighted.cuh"

namespace fedbench::cuda {

namespace {

using optimising::Maximum;
using optimising::Step;

template <typename Real>
bool is_aligned(const Step<Real>& step) {
    return all_aligned({step.x, step.m, step.v, step.vhat, step.g});  // a null pointer is
}

/// Calls body(adapt) with the step's Adapt, whose type has the step's Kind.
template <typename Real, typename Body>
void with_adapt(const Step<Real>& step, const optimising::Factors<Real>& factors, const double* clip, const Body& body) {
    optimising::with_kind_of(step, [&]<typename Kind>(Kind) { body(Adapt<Real, Kind>{step, factors, clip}); });
}

template <typename Real>
void adapt(const char* name, const Step<Real>& step, const optimising::Factors<Real>& factors, const double* clip, Stream stream) {
    with_adapt(step, factors, clip, [&](const auto& each) { launch_each(name, each, step.d, is_aligned(step), stream); });
}

template <typename Real>
Step<Real> step_of(std::span<Real> x, const Moments<Real>& moments, const Real* g, Maximum maximum, const AdamRule& rule) {
    return {x.data(), moments.m.data(), moments.v.data(), moments.vhat.data(), g, x.size(), maximum, momentum_of(rule), rule.second};
}

}  // namespace

namespace later {

template <typename Real>
void clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, double* clip, Stream stream) {
    check_length("g", g.size(), x.size());
    const Sums<DotSource<Real>> sums(g.size(), stream);
    sums.launch_with("clip_sgd", {g.data(), g.data()}, LeaveClip{clip, bound});
    const Descend<Real> op{x.data(), g.data(), clip, static_cast<Real>(rate)};
    launch_each("clip_sgd", op, x.size(), all_aligned({x.data(), g.data()}), stream);
}

template <typename Real>
void clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound, double* clip,
               Stream stream) {
    check_length("g", g.size(), x.size());
    check_moments(x.size(), moments, rule);
    if (!moments.vhat.empty()) throw std::invalid_argument("vhat: clip_adam has no maximum");
    const Sums<DotSource<Real>> sums(g.size(), stream);
    sums.launch_with("clip_adam", {g.data(), g.data()}, LeaveClip{clip, bound});
    adapt("clip_adam", step_of(x, moments, g.data(), Maximum::none, rule), optimising::factors_of<Real>(rule, -rule.rate, 1), clip, stream);
}

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   Stream stream) {
    check_length("direction", direction.size(), x.size());
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    adapt<Real>("adaptive_step", step_of(x, moments, direction.data(), maximum, rule), optimising::factors_of<Real>(rule, rule.rate, 1),
                nullptr, stream);
}

template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream) {
    check_moments(x.size(), moments, rule);
    const Maximum maximum = maximum_of(moments, x.size(), use_maximum);
    const auto step = step_of<Real>(x, moments, nullptr, maximum, rule);
    with_adapt(step, optimising::factors_of<Real>(rule, rule.rate, 1), nullptr, [&](const auto& use) {
        weighted<Real>("sum_adaptive_step", weights, vectors, x.size(), nullptr, use, is_aligned(step), nullptr, stream);
    });
}

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream) {
    check_cache(update, out.size());
    const Listed<Real, kTriples> weights(
        update.weights.size(), [&](std::size_t k) { return static_cast<Real>(update.weights[k]); }, stream);
    const Listed<const Real*, kTriples> vectors(
        update.vectors.size(), [&](std::size_t k) { return update.vectors[k]; }, stream);
    const Listed<Real*, kTriples> rows(
        update.rows.size(), [&](std::size_t k) { return update.rows[k]; }, stream);
    const Arrivals<Real> op{weights.list(),    vectors.list(), rows.list(),  update.vectors.size(),
                            update.sum.data(), out.data(),     update.scale, update.order};
    const bool aligned = all_aligned(update.vectors) && all_aligned(update.rows) && all_aligned({update.sum.data(), out.data()});
    launch_each("update_cache", op, out.size(), aligned, stream);
}

}  // namespace later

template <typename Real>
Clip clip_sgd(std::span<Real> x, std::span<const Real> g, double rate, double bound, Stream stream) {
    const Numbers<2> clip(stream);
    later::clip_sgd<Real>(x, g, rate, bound, clip.data(), stream);
    const auto found = clip.wait("clip_sgd");
    return {found[0], found[1]};
}

template <typename Real>
Clip clip_adam(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> g, const AdamRule& rule, double bound,
               Stream stream) {
    const Numbers<2> clip(stream);
    later::clip_adam<Real>(x, moments, g, rule, bound, clip.data(), stream);
    const auto found = clip.wait("clip_adam");
    return {found[0], found[1]};
}

template <typename Real>
void adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const Real> direction, const AdamRule& rule, bool use_maximum,
                   Stream stream) {
    later::adaptive_step<Real>(x, moments, direction, rule, use_maximum, stream);
    finish("adaptive_step", stream);
}

template <typename Real>
void sum_adaptive_step(std::span<Real> x, const Moments<Real>& moments, std::span<const double> weights,
                       std::span<const Real* const> vectors, const AdamRule& rule, bool use_maximum, Stream stream) {
    later::sum_adaptive_step<Real>(x, moments, weights, vectors, rule, use_maximum, stream);
    finish("sum_adaptive_step", stream);
}

template <typename Real>
void update_cache(const CacheUpdate<Real>& update, std::span<Real> out, Stream stream) {
    later::update_cache<Real>(update, out, stream);
    finish("update_cache", stream);
}

#define FEDBENCH_INSTANTIATE(Real)                                                                                                         \
    template void later::clip_sgd<Real>(std::span<Real>, std::span<const Real>, double, double, double*, Stream);                          \
    template void later::clip_adam<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, double, double*,   \
                                         Stream);                                                                                          \
    template void later::adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, bool, Stream); \
    template void later::sum_adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const double>,                           \
                                                 std::span<const Real* const>, const AdamRule&, bool, Stream);                             \
    template void later::update_cache<Real>(const CacheUpdate<Real>&, std::span<Real>, Stream);                                            \
    template Clip clip_sgd<Real>(std::span<Real>, std::span<const Real>, double, double, Stream);                                          \
    template Clip clip_adam<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, double, Stream);          \
    template void adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const Real>, const AdamRule&, bool, Stream);        \
    template void sum_adaptive_step<Real>(std::span<Real>, const Moments<Real>&, std::span<const double>, std::span<const Real* const>,    \
                                          const AdamRule&, bool, Stream);                                                                  \
    template void update_cache<Real>(const CacheUpdate<Real>&, std::span<Real>, Stream);
FEDBENCH_INSTANTIATE(float)
FEDBENCH_INSTANTIATE(double)
#undef FEDBENCH_INSTANTIATE

}  // namespace fedbench::cuda
