// The mathematics that CPU and GPU share: a number has the bits of a pack's lane, and the formulas
// are those of the papers.
#include <cmath>
#include <limits>
#include <vector>

#include "../accumulate/cached.hpp"
#include "../accumulate/rule.hpp"
#include "../distill/formulas.hpp"
#include "../distill/pack.hpp"
#include "check.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::distillation;
using testing::check;

template <typename Real>
bool same(Real a, Real b) {
    return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
}

template <typename Real>
std::vector<Real> exponents() {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    std::vector<Real> values{0,
                             Real(-0.0),
                             Real(-1e-30),
                             Real(-87.29),
                             Real(-87.31),
                             Real(-707.9),
                             Real(-708.1),
                             Real(-1e30),
                             -infinity,
                             std::numeric_limits<Real>::quiet_NaN()};
    RandomStream stream(7, Purpose::parameters);
    while (values.size() < 4096) values.push_back(static_cast<Real>(-100 * stream.exponential()));
    return values;
}

/// Every value alone, and as a lane.
template <typename Real>
void exponentials() {
    const auto values = exponents<Real>();
    const double tolerance = sizeof(Real) == 4 ? 1.3e-7 : 4e-16, least = sizeof(Real) == 4 ? -87.3 : -708;
    bool lanes = true, accurate = true;
    for (std::size_t i = 0; i < values.size(); i += Pack<Real>::width) {
        const auto pack = exp_negative(load(&values[i]));
        for (std::size_t j = 0; j < Pack<Real>::width && i + j < values.size(); ++j) {
            const Real d = values[i + j], e = exp_negative(d);
            lanes = lanes && same(e, pack[j]);
            if (!(d > Real(least))) continue;
            accurate = accurate && std::abs(e / std::exp(static_cast<long double>(d)) - 1) <= tolerance;
        }
    }
    check(lanes, "exp of a number has the bits of exp of a lane");
    check(accurate, "exp to its stated accuracy");
    check(exp_negative(Real{0}) == 1 && exp_negative(Real(-1e30)) == 0 && std::isnan(exp_negative(values[9])), "exp at its ends");
}

void logarithms() {
    RandomStream stream(8, Purpose::parameters);
    bool portable = true;
    for (int i = 0; i < 4096; ++i) {
        const double x = std::exp(20 * stream.normal());
        double lanes[8];
        store(lanes, log_positive(broadcast(x)));
        portable = portable && log_positive(x) == portable_log(x) && log_positive(x) == lanes[3];
    }
    check(portable, "log of a number, of a lane and portable_log");
    check(log_positive(1.0) == 0 && std::isnan(log_positive(std::nan(""))), "log at its ends");
    check(plogp(0.0) == 0 && plogp(1e-310) == 0 && plogp(1.0) == 0 && std::abs(plogp(0.5) + 0.5 * std::log(2.0)) < 1e-16, "P log P");
}

/// P = (1/4, 3/4) and Q = (1/2, 1/2), label 1.
void information() {
    const double e = 4.0 / 3, f = 2, log_e = std::log(e), third = std::log(1.0 / 3), negative = third / 3;
    const double h = -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)), kl = std::log(2.0) - h;
    check(std::abs(entropy_of(log_e, negative, e) - h) < 1e-15, "H");
    check(std::abs(divergence_of(negative, e, log_e, 1.0, std::log(f)) - kl) < 1e-15, "KL");
    check(std::abs(cross_entropy_of(std::log(f), 0.0) - std::log(2.0)) < 1e-15, "CE");
    const Distilled d = with_alpha({2, {0.2, 0.8}, Teacher::logits}, 2, {2 * std::log(2.0), 0, 0});
    check(d.relative_entropy == 1 && d.alpha == 0.8, "alpha of uniform teachers is its maximum");
    check(loss_of(0.25, 2, {0, 4, 8}) == (0.25 * 4 + 0.75 * 8) / 2, "the loss");
    const Mix<double> mix(0.25, 2);
    check(residual(0.5, 0.75, mix.minus_alpha, mix.scale) == (0.5 - 0.25 * 0.75) / 2 && mix.hard == 0.375, "the gradient");
}

void steps() {
    using namespace fedbench::optimising;
    check(power(0.5, 0) == 1 && power(0.5, 5) == 1.0 / 32 && power(3, 4) == 81, "powers");
    const auto f = factors_of<double>({0.5, 0.5, 0.75, 0, true, 2}, 0.5, 2);
    check(f.rate == 0.5 / 0.75 && f.root == 1 / std::sqrt(1 - 0.5625) && f.scale == 2 && f.rest2 == 0.25, "factors at t = 2");
    const Factors<double> plain{0.5, 0.5, 0.5, 0.5, 1, 1, 1, 0};
    const Element<double> now{10, 2, 14, 16}, none = adapted<Kind<Maximum::none, Momentum::now, Second::adam>>(now, 2.0, plain);
    check(none.x == 10 + 2 / 3.0 && none.m == 2 && none.v == 9 && none.vhat == 16, "m = 2, v = 9, x + 2 / 3");
    check((adapted<Kind<Maximum::kept, Momentum::now, Second::adam>>({10, 2, 14, 4}, 2.0, plain).vhat == 9),
          "the maximum is kept up to date");
    check((adapted<Kind<Maximum::used, Momentum::now, Second::adam>>(now, 2.0, plain).x == 10.5), "with the maximum x + 2 / 4");
    check(second_moment<Second::yogi>(14.0, 2.0, plain) == 12 && second_moment<Second::yogi>(2.0, 2.0, plain) == 4, "Yogi: 2 either way");
    check(second_moment<Second::yogi>(4.0, 2.0, plain) == 4, "Yogi stays where v is the square");
    check(second_moment<Second::adagrad>(14.0, 2.0, plain) == 18, "Adagrad adds the square");
    check((adapted<Kind<Maximum::none, Momentum::ahead, Second::adam>>({10, 10, 14, 0}, 2.0, plain).x == 10 + 4 / 3.0),
          "m = 6, one further 4");
    check(clip_of(25, 5).factor == 1 && clip_of(25, 2.5).factor == 0.5 && clip_of(0, 1).norm == 0, "clipping");
    check(descended(1.0, 4.0, 0.5, 0.25) == 0.5, "descent");
    using namespace fedbench::caching;
    check(scaled_sum<float>(0.5, 3) == 1.5f && with_arrival(1.0, 0.5, 7.0, 3.0) == 3 && replaced(10, 7.0f, 3.0f) == 14, "the cache");
}

}  // namespace

int main() {
    exponentials<float>();
    exponentials<double>();
    logarithms();
    information();
    steps();
    return testing::report("formulas");
}
