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
    check(step.job(0, Purpose::compute, 0, 0, 7) == 14 * kSecond, "per step: K times one step");
    check_throws<std::invalid_argument>([&] { step.job(0, Purpose::compute, 0, 0, 2'000'000'000); }, "more than 1e9 seconds");
}

}  // namespace

int main() {
    refused_durations();
    return report("durations");
}
