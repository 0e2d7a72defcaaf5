// Durations and steps: what they refuse, and rounding.
#include <limits>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

void refused_durations() {
    const auto refused = [](DurationKind kind, std::vector<double> a, std::vector<double> b, std::string_view part,
                            std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>([&] { Durations("compute", kind, a, b, false, {}); }, part, at);
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    refused(DurationKind::constant, {-1}, {}, "between 0 and 1e9, got -1");
    refused(DurationKind::constant, {1, nan}, {}, "(client 1)");
    refused(DurationKind::constant, {1.1e9}, {}, "between 0 and 1e9");
    refused(DurationKind::constant, {}, {}, "at least one value");
    refused(DurationKind::uniform, {1}, {}, "second parameter");
    refused(DurationKind::uniform, {2}, {1}, "high must be >= low");
    refused(DurationKind::uniform, {1, 5}, {3}, "high must be >= low");
    refused(DurationKind::uniform, {1, 1}, {2, 2, 2}, "expected 1 or 3 values");
    refused(DurationKind::lognormal, {infinity}, {1}, "mu must be finite");
    refused(DurationKind::lognormal, {0}, {-1}, "sigma must be >= 0");
    refused(DurationKind::pareto, {1}, {0}, "shape must be > 0");
    check_throws<std::invalid_argument>([] { to_nanoseconds(-1, "budget"); }, "budget");
    check(to_nanoseconds(2.5e-9, "x") == 2 && to_nanoseconds(3.5e-9, "x") == 4, "nearest nanosecond, ties to even");
    check_throws<std::invalid_argument>([] { Steps::constant({-1}); }, "local steps must be >= 0");
    check_throws<std::invalid_argument>([] { Steps::normal(0, -1); }, "variance >= 0");
    const Durations step("compute", DurationKind::constant, {2}, {}, true, {});
    check(step.job(0, Purpose::compute, 0, 0, 7, 7) == 14 * kSecond, "per step: K times one step");
    check_throws<std::invalid_argument>([&] { step.job(0, Purpose::compute, 0, 0, 2'000'000'000, 2'000'000'000); },
                                        "more than 1e9 seconds");
}

/// A duration is that of one gradient a step; a job with more takes longer in proportion, whether
/// it is drawn by step or as a whole.
void jobs_pay_for_their_gradients() {
    const GradientWork twice{2, {0, 3}};
    check(twice.of(0, 5) == 10 && twice.of(1, 5) == 13 && GradientWork{}.of(1, 5) == 5, "per step and beside");
    const Durations step("compute", DurationKind::constant, {2}, {}, true, {}),
        whole("compute", DurationKind::constant, {5}, {}, false, {});
    check(step.job(0, Purpose::compute, 1, 0, 5, 13) == 26 * kSecond, "13 gradients of 2 s");
    check(whole.job(0, Purpose::compute, 1, 0, 5, 13) == 13 * kSecond, "13 fifths of 5 s");
    check(whole.job(0, Purpose::compute, 1, 0, 5, 5) == 5 * kSecond && whole.job(0, Purpose::compute, 1, 0, 9, 9) == 5 * kSecond,
          "a whole job takes its time whatever its steps");
    const Durations years("compute", DurationKind::constant, {4e8}, {}, false, {});
    check(years.job(0, Purpose::compute, 0, 0, 60, 61) == 4 * kSecond * 100'000'000 / 60 * 61 + 40,
          "a product beyond 64 bits, a time within");
    check_throws<std::invalid_argument>([&] { years.job(0, Purpose::compute, 0, 0, 2, 6); }, "6 gradients, take more than 1e9 seconds");
    check(whole.job(0, Purpose::compute, 1, 0, 0, 3) == 15 * kSecond, "no steps: what is beside them counts as steps");
    check_throws<std::invalid_argument>([] { GradientWork{0, {}}.check_clients(1); }, "per_step must be >= 1, got 0");
    check_throws<std::invalid_argument>([] { GradientWork{1, {1, -1}}.check_clients(2); }, "beside the steps must be >= 0");
    check_throws<std::invalid_argument>([] { GradientWork{1, {1, 1}}.check_clients(3); }, "expected 3 numbers, one per client, got 2");
    SystemModel system = fixed_system({1, 1});
    system.compute = step;
    system.work = twice;
    const Plan plan(system, Rounds{}, updates(1));
    check(plan.jobs.t_finish[0] == 20 * kSecond && plan.jobs.t_finish[1] == 26 * kSecond, "the clock charges for them");
}

}  // namespace

int main() {
    refused_durations();
    jobs_pay_for_their_gradients();
    return report("durations");
}
