// Drop-out, deadlines and over-selection: hand-made timelines. Times in quarters of a second.
#include <cmath>
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

Rounds scripted(const std::vector<std::vector<std::int32_t>>& rounds, std::int64_t deadline_quarters, std::uint32_t over_selection) {
    return {Select::scripted, 0, {}, table(rounds), deadline_quarters * kQuarter, over_selection};
}

/// Clients take 1, 2 and 3 s.
void deadlines() {
    const SystemModel system = fixed_system({1, 2, 3});
    const Plan plan(system, scripted({{2, 0}, {2, 1}, {0}}, 10, 0), updates(3));
    check_update(plan, 0, 10, {{0, 0, 0}});
    check_update(plan, 1, 20, {{1, 0, 0}});
    check_update(plan, 2, 24, {{0, 1, 0}});
    const Job late = plan.job(0);
    check(late.client == 2 && late.k == 0 && plan.jobs.consumed_by[0] == kNotConsumed, "called off when the round closes");
    check(late.t_start == 0 && late.t_finish == kNever && late.t_arrive == kNever && late.t_lost == kNever, "not lost, never finished");

    check_update(Plan(system, scripted({{2, 0}}, 12, 0), updates(1)), 0, 12, {{0, 0, 0}, {2, 0, 0}});  // at the deadline, in time
    check_update(Plan(system, scripted({{2}, {1}, {0, 1}}, 6, 0), updates(1)), 0, 18, {{0, 0, 0}});    // two rounds without an update
    const Plan never(system, Rounds{Select::all, 0, {}, {}, kQuarter, 0}, {10, 5 * kSecond, 1000});
    check(never.updates.time.empty() && never.ended_by == "time" && never.jobs.size() == 63, "rounds without an update go on");
}

void over_selection() {
    const SystemModel system = fixed_system({1, 2, 3});
    const Plan plan(system, scripted({{0, 1, 2}, {0, 0, 1}, {0, 1, 1}, {2, 1, 0}}, 0, 1), updates(4));
    check_update(plan, 0, 8, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 12, {{0, 1, 0}, {0, 1, 0}});
    check_update(plan, 2, 20, {{0, 2, 0}, {1, 2, 0}});  // of the two copies of client 1 one is wanted
    check_update(plan, 3, 28, {{0, 3, 0}, {1, 3, 0}});
    const Rounds drawn{Select::without_replacement, 1, {}, {}, 0, 2};
    check_update(Plan(system, drawn, updates(1)), 0, 4, {{0, 0, 0}});
    check_update(Plan(fixed_system({1, 1, 1}), drawn, updates(1)), 0, 4, {{0, 0, 0}});  // ties: the lowest client
    check_throws<std::invalid_argument>([&] { Plan(system, scripted({{1}}, 0, 1), updates(1)); },
                                        "over_selection 1 leaves nobody of the 1");
    check_throws<std::invalid_argument>(
        [&] {
            Plan(system, Rounds{Select::without_replacement, 2, {}, {}, 0, 2}, updates(1));
        },
        "more than the 3 clients");
    check_throws<std::invalid_argument>([&] { Plan(system, Rounds{Select::all, 0, {}, {}, -1, 0}, updates(1)); }, "deadline_seconds");
}

/// Client 1 loses every job. A round without a result makes no update; the script goes on with the
/// next one.
void dropout() {
    SystemModel system = fixed_system({1, 2});
    system.dropout = Dropout({0, 1});
    const Plan plan(system, Rounds{Select::scripted, 0, {}, table<std::int32_t>({{1}, {0, 1}, {1, 0}})}, updates(2));
    check(plan.updates.time.size() == 2 && plan.totals.jobs_created == 5, "three rounds, two updates");
    const Job first = plan.job(0);
    check(first.client == 1 && first.t_lost > 0 && first.t_lost < 2 * kSecond && first.t_finish == kNever, "lost while it ran");
    check(plan.job(1).t_dispatch == first.t_lost, "the next round starts when all is lost");
    for (std::size_t u = 0; u < 2; ++u) {
        const std::int64_t entry = plan.updates.entries[static_cast<std::size_t>(plan.updates.offsets[u])];
        check(plan.updates.offsets[u + 1] - plan.updates.offsets[u] == 1 && plan.job(static_cast<std::size_t>(entry)).client == 0,
              "client 0 alone");
    }
    check_throws<std::invalid_argument>([] { Dropout({1}); }, "the probability is 1 for every client");
    check_throws<std::invalid_argument>([] { Dropout({0.5, -0.5}); }, "must be between 0 and 1, got -0.5 (client 1)");
    check_throws<std::invalid_argument>([&] { Dropout({0.1, 0.1, 0.1}).check_clients(2); }, "expected 1 or 2 values");
    check(Dropout({0, 0}).is_off(), "0 is off");
}

/// A share q of the jobs is lost, uniformly over their runs, whatever the policy: keyed by (client,
/// k).
void dropout_law() {
    SystemModel system = random_system(50, 11);
    system.dropout = Dropout({0.3});
    const Plan plan(system, stream(20, 5), updates(3000));
    double lost = 0, at = 0;
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
        const Job job = plan.job(i);
        if (job.t_lost == kNever) continue;
        const std::int64_t run = system.compute.job(system.seed, Purpose::compute, job.client, job.k, job.steps, job.steps);
        lost += 1;
        at += static_cast<double>(job.t_lost - job.t_start) / static_cast<double>(run);
        check(plan.jobs.consumed_by[i] == kNotConsumed && job.t_start <= job.t_lost && job.t_lost <= job.t_start + run, "inside its run");
    }
    const double share = lost / static_cast<double>(plan.jobs.size());
    check(std::abs(share - 0.3) < 0.01, "share of lost jobs " + std::to_string(share));
    check(std::abs(at / lost - 0.5) < 0.01, "uniform on the run");
    SystemModel poll = random_system(20, 3);
    poll.compute = Durations("compute", DurationKind::constant, {1}, {}, true, {});
    poll.dropout = Dropout({0.5});
    const Plan polled(poll, Poll{4 * kSecond, 100, 20, {}}, updates(300));
    double gone = 0;
    for (std::int64_t t : polled.jobs.t_lost) gone += t != kNever;
    check(std::abs(gone / static_cast<double>(polled.jobs.size()) - 0.5 * 4 / 100) < 0.01, "a job polled before is not lost");
}

}  // namespace

int main() {
    deadlines();
    over_selection();
    dropout();
    dropout_law();
    return report("lost jobs");
}
