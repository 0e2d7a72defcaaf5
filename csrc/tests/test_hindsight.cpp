// Looking back: work done until a loss, who left, and time on-line, on scripted windows.
#include <vector>

#include "fedbench/hindsight.hpp"
#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

/// Client 0 is there on [0, 4) and [6, 9), client 1 always; steps take 1 s.
Scheduler scheduler(WhenOffline when_offline) {
    SystemModel system = fixed_system({1, 1});
    system.compute = Durations("compute", DurationKind::constant, {1, 1}, {}, true, {});
    system.availability = Availability::table(table<double>({{0, 4, 6, 9}, {0, 1000}}), 0);
    system.when_offline = when_offline;
    return {system, Rounds{}, updates(1)};
}

void check_done(Hindsight::Done got, double seconds, std::int32_t steps, std::source_location at = std::source_location::current()) {
    check(got.worked == static_cast<std::int64_t>(seconds * kSecond) && got.steps == steps, "work done", at);
}

void work() {
    const std::int64_t half = kSecond / 2;
    Hindsight lost(scheduler(WhenOffline::lost));
    check_done(lost.done(0, 0, 5, half, 4 * kSecond), 3.5, 3);
    check_done(lost.done(0, 0, 2, half, 4 * kSecond), 2, 2);  // it had done all its steps
    check_done(lost.done(0, 0, 5, 4 * kSecond, half), 0, 0);
    Hindsight paused(scheduler(WhenOffline::paused));
    check_done(paused.done(0, 0, 9, 3 * kSecond, 8 * kSecond + half), 3.5, 3);
    check_done(paused.done(0, 0, 9, half, 3 * kSecond), 2.5, 2);  // an earlier question
    check(lost.done(0, 0, 5, half, 4 * kSecond).gradients == 3, "a gradient a step");
}

/// Steps of 1 s with two gradients each, after 3 gradients beside them: a job of 5 steps takes 13
/// s.
void gradients_beside_the_steps_come_first() {
    SystemModel system = fixed_system({1});
    system.compute = Durations("compute", DurationKind::constant, {1}, {}, true, {});
    system.work = {2, {3}};
    Hindsight hindsight(Scheduler(system, Rounds{}, updates(1)));
    const auto after = [&](std::int64_t seconds) { return hindsight.done(0, 0, 5, 0, seconds * kSecond); };
    check(after(2).steps == 0 && after(2).gradients == 2, "still beside");
    check(after(6).steps == 1 && after(6).gradients == 6, "in the middle of the second step");
    check(after(99).steps == 5 && after(99).gradients == 13 && after(99).worked == 13 * kSecond, "all");
}

void causes() {
    Hindsight lost(scheduler(WhenOffline::lost)), paused(scheduler(WhenOffline::paused));
    for (std::int64_t second = 0; second < 12; ++second) {
        check(lost.is_left(0, second * kSecond) == (second == 4 || second == 9), "leaves at the end of every stay");
        check(paused.is_left(0, second * kSecond) == (second == 9), "leaves for good");
        check(!lost.is_left(1, second * kSecond), "stays");
    }
}

void stays() {
    Hindsight hindsight(scheduler(WhenOffline::lost));
    check(hindsight.there(0, 0, 20 * kSecond) == 7 * kSecond && hindsight.there(0, 5 * kSecond, 7 * kSecond) == kSecond, "time there");
    const std::vector<Window> windows = hindsight.stays(0, 8 * kSecond);
    check(windows.size() == 2 && windows[0].until == 4 * kSecond && windows[1].until == 8 * kSecond, "cut at the end");
    SystemModel system = fixed_system({1});
    Hindsight always(Scheduler(system, Rounds{}, updates(1)));
    check(always.there(0, 2, 5) == 3 && always.stays(0, 7).size() == 1 && !always.is_left(0, 5), "always there");

    system.availability = Availability::alternating({2}, {1});
    system.seed = 3;
    Hindsight drawn(Scheduler(system, Rounds{}, updates(1)));
    std::int64_t total = 0;
    for (const Window& stay : drawn.stays(0, 1000 * kSecond)) {
        total += stay.until - stay.from;
        check(stay.until == 1000 * kSecond || drawn.is_left(0, stay.until), "the same windows");
    }
    check(drawn.there(0, 0, 1000 * kSecond) == total, "the same time");
}

}  // namespace

int main() {
    work();
    gradients_beside_the_steps_come_first();
    causes();
    stays();
    return report("hindsight");
}
