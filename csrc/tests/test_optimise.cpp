// Optimiser steps: portable and AVX2 agree bit for bit, the fused sum is the sum and the step,
// clipping has its edges.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/optimise.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

constexpr double kNoBound = std::numeric_limits<double>::infinity();

template <typename Real>
struct State {
    std::vector<Real> x, m, v, vhat;

    explicit State(std::size_t d) : x(d, Real{1}), m(d, Real(0.5)), v(d, Real(0.25)), vhat(d, Real(0.3)) {}
    Moments<Real> moments() { return {m, v, vhat}; }
    bool operator==(const State&) const = default;
};

template <typename Real>
std::vector<Real> random_vector(RandomStream& stream, std::size_t d) {
    std::vector<Real> values(d);
    for (Real& value : values) value = static_cast<Real>(stream.normal());
    return values;
}

template <typename Real>
void same_bits_everywhere() {
    RandomStream stream(4, Purpose::parameters);
    for (std::size_t d : {0, 1, 7, 8, 9, 100, 4096, 4099}) {
        const auto a = random_vector<Real>(stream, d), b = random_vector<Real>(stream, d);
        const std::vector<const Real*> rows{a.data(), b.data()};
        const std::vector<double> weights{0.5, -0.25};
        std::vector<Real> direction(d);
        weighted_sum<Real>(weights, rows, direction);
        const AdamRule adam{0.1, 0.9, 0.99, 1e-8, true, 3}, yogi{0.1, 0.9, 0.99, 1e-8, false, 3, false, Second::yogi};
        const AdamRule adagrad{0.1, 0.9, 0.99, 1e-8, false, 3, true, Second::adagrad};
        for (const auto& [rule, use] :
             {std::pair{adam, false}, {adam, true}, {yogi, false}, {yogi, true}, {adagrad, false}, {adagrad, true}}) {
            State<Real> one(d), two(d), fused(d);
            adaptive_step<Real>(one.x, one.moments(), direction, rule, use, InstructionSet::portable);
            adaptive_step<Real>(two.x, two.moments(), direction, rule, use);
            sum_adaptive_step<Real>(fused.x, fused.moments(), weights, rows, rule, use);
            check(one == two && one == fused, "adaptive step, d = " + std::to_string(d));
        }
        for (double bound : {0.5, kNoBound}) {
            State<Real> one(d), two(d);
            clip_adam<Real>(one.x, {one.m, one.v, {}}, a, {0.1, 0.9, 0.999, 1e-8}, bound, InstructionSet::portable);
            clip_adam<Real>(two.x, {two.m, two.v, {}}, a, {0.1, 0.9, 0.999, 1e-8}, bound);
            clip_sgd<Real>(one.x, b, 0.1, bound, InstructionSet::portable);
            clip_sgd<Real>(two.x, b, 0.1, bound);
            check(one == two, "clipped steps, d = " + std::to_string(d));
        }
    }
}

template <typename Real>
void edges() {
    std::vector<Real> x{1, 2}, g{3, 4}, zero{0, 0};
    Clip clip = clip_sgd<Real>(x, g, 0.5, 5);
    check(clip.norm == 5 && clip.factor == 1 && x[0] == Real(-0.5) && x[1] == 0, "a norm at the bound is not clipped");
    clip = clip_sgd<Real>(x, g, 0.5, 2.5);
    check(clip.factor == 0.5 && x[1] == -1, "the factor is bound / norm");
    clip = clip_sgd<Real>(x, zero, 0.5, 1);
    check(clip.norm == 0 && clip.factor == 1, "no division by a norm of 0");
    State<Real> state(3);
    check_throws<std::invalid_argument>([&] { clip_sgd<Real>(x, state.x, 1, 1); }, "g: expected length 2, got 3");
    check_throws<std::invalid_argument>([&] { adaptive_step<Real>(state.x, {state.m, state.v, {}}, state.x, {1, 0, 0, 1}, true); }, "vhat");
    std::vector<Real> one{0}, m{0}, v{1}, two{2};
    clip_adam<Real>(one, {m, v, {}}, two, {1, 0, 0.25, 0, false, 1, false, Second::yogi}, kNoBound);
    check(v[0] == 4 && m[0] == 2 && one[0] == -1, "a clipped step of Yogi: v = 1 + 3, x - 2 / 2");
    const AdamRule corrected{1, 0, 0, 1, true, 1, false, Second::yogi};
    check_throws<std::invalid_argument>([&] { clip_adam<Real>(x, {zero, zero, {}}, g, corrected, 1); }, "second: yogi and adagrad");
    check_throws<std::invalid_argument>([&] { clip_adam<Real>(x, {zero, zero, {}}, g, {1, 0, 0, 1, true, 0}, 1); }, "step: must be >= 1");
}

}  // namespace

int main() {
    same_bits_everywhere<float>();
    same_bits_everywhere<double>();
    edges<float>();
    edges<double>();
    return testing::report("optimise");
}
