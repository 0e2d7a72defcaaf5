// Mailbox and Poll: hand-made timelines and errors. The laws that hold for all policies are in
// test_plan_laws.cpp, timelines with absence in test_absence.cpp.
#include <string_view>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

SystemModel per_step(std::vector<double> compute, double download = 0, double upload = 0) {
    SystemModel system = fixed_system(compute, download, upload);
    system.compute = Durations("compute", DurationKind::constant, std::move(compute), {}, true, {});
    return system;
}

/// Client 0 takes 1 s, client 1 takes 3 s; round 0 waits for client 1. Peek: client 0 overwrites
/// its results of 1 and 2 s at 2 and 3 s; the one of 3 s is taken by round 1, which waits for
/// client 1 until 6 s.
void mailbox_overwrites() {
    const Mailbox policy{0, Send::continuous, Receive::peek, table<std::int32_t>({{1, 1}, {0, 1}})};
    const Plan plan(fixed_system({1, 3}), policy, updates(2));
    check_update(plan, 0, 12, {{1, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 24, {{0, 2, 1}, {1, 1, 0}});
    for (std::int32_t k : {0, 1}) {
        const std::size_t row = static_cast<std::size_t>(k);
        check(plan.jobs.client[row] == 0 && plan.jobs.k[row] == k && plan.jobs.consumed_by[row] == kNotConsumed, "overwritten: discarded");
        check(plan.jobs.t_arrive[row] == kNever && plan.jobs.t_finish[row] == (k + 1) * kSecond, "it never arrives");
    }
    check(plan.totals.downloads == 4, "two versions were sent to two clients");
}

/// On demand client 0 has one result, of 1 s, until round 1 takes it at 3 s; the upload of 0.5 s
/// does not occupy it.
void mailbox_on_demand() {
    const Mailbox policy{0, Send::on_demand, Receive::peek, table<std::int32_t>({{1}, {0}})};
    const Plan plan(fixed_system({1, 2.5}, 0, 0.5), policy, updates(2));
    check_update(plan, 0, 12, {{1, 0, 0}});
    check_update(plan, 1, 14, {{0, 0, 1}});
    check(plan.jobs.size() == 4 && plan.job(2).t_start == 12 * kQuarter, "client 0 goes on when its result is taken");
}

/// A result in a send buffer is an open job: its version is live, and the plan's end reports it
/// without an arrival.
void mailbox_keeps_stored_jobs_open() {
    const Mailbox policy{0, Send::on_demand, Receive::pop, table<std::int32_t>({{1}, {1}, {1}, {0}})};
    Scheduler scheduler(fixed_system({1, 2}), policy, updates(4));
    const PlanChunk chunk = scheduler.next(3);
    check(chunk.jobs.size() == 3 && chunk.live_bases == std::vector<std::int32_t>({0, 3}), "version 0 waits in a send buffer");
    check(scheduler.missing() == std::vector<std::int32_t>({0}), "round 3 waits for its arrival");
    const PlanChunk last = scheduler.next(9);
    check(last.done && last.jobs.base[0] == 0 && last.jobs.client[0] == 0 && last.jobs.consumed_by[0] == 3, "taken in round 3");
    const Plan plan(fixed_system({1, 2}), policy, updates(3));
    check(plan.jobs.client[3] == 0 && plan.jobs.t_arrive[3] == kNever && plan.jobs.t_finish[3] == kSecond, "never taken");
}

/// Steps of 1, 2 and 5 s, at most 3, polls every 4 s. At 4 s client 1 has ended its second step: it
/// counts.
void poll_by_hand() {
    const Poll policy{4 * kSecond, 3, 0, table<std::int32_t>({{0, 1}, {2, 0}})};
    const Plan plan(per_step({1, 2, 5}), policy, updates(2));
    check_update(plan, 0, 16, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 32, {{0, 1, 0}, {2, 0, 1}});
    const Job first = plan.job(0), second = plan.job(1), slow = plan.job(3);
    check(first.steps == 3 && first.t_finish == 3 * kSecond && first.t_arrive == 4 * kSecond, "all steps: finished before the poll");
    check(second.steps == 2 && second.t_finish == 4 * kSecond, "fewer: the poll ends it");
    check(slow.steps == 1 && slow.t_finish == 8 * kSecond, "others are not disturbed by a poll");
    check(plan.job(4).steps == 2 && plan.job(4).t_finish == 8 * kSecond, "a job never polled shows what it has done");
    check(plan.totals.downloads == 5 && plan.totals.jobs_created == 5, "one download per job");
}

/// Upload of one period: the update of 2 s comes before the poll of 2 s, in which the client has
/// done nothing. With 1.25 s the multiple at 2 s passes during the upload.
void poll_instants() {
    const Poll policy{kSecond, 9, 0, table<std::int32_t>({{0}, {0}})};
    const Plan same(per_step({0.25}, 0, 1), policy, updates(2));
    check_update(same, 0, 8, {{0, 0, 0}});
    check_update(same, 1, 12, {{0, 1, 0}});
    check(same.job(0).steps == 4 && same.job(1).steps == 0 && same.job(1).t_finish == 2 * kSecond, "polled again in the same instant");
    const Plan skipped(per_step({0.25}, 0, 1.25), policy, updates(2));
    check_update(skipped, 0, 9, {{0, 0, 0}});
    check_update(skipped, 1, 17, {{0, 1, 0}});
    const Plan early(per_step({0.25}, 1.5), policy, updates(2));
    check(early.job(0).steps == 0 && early.job(0).t_start == 6 * kQuarter && early.job(0).t_finish == kSecond, "before its download");
}

void refused_arguments() {
    const auto refused = [](const SystemModel& system, const PolicyConfig& policy, std::string_view part,
                            std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>([&] { Scheduler(system, policy, updates(9)).next(10); }, part, at);
    };
    const SystemModel two = per_step({1, 1});
    refused(two, Mailbox{0, Send::continuous, Receive::pop, {}}, "mailbox: cohort_size must be >= 1");
    refused(two, Mailbox{0, Send::continuous, Receive::pop, table<std::int32_t>({{2}})}, "mailbox: selections of round 0 name client 2");
    refused(fixed_system({0, 1}), Mailbox{2, Send::continuous, Receive::pop, {}}, "zero cycle time");
    refused(fixed_system({0, 1}, 0, 1), Mailbox{2, Send::continuous, Receive::peek, {}}, "compute must be > 0");
    refused(two, Poll{0, 1, 1, {}}, "period_seconds must be > 0");
    refused(two, Poll{1, 0, 1, {}}, "max_steps must be >= 1");
    refused(two, Poll{1, 1, 3, {}}, "cohort_size 3 without replacement is more than the 2 clients");
    refused(two, Poll{1, 1, 0, table<std::int32_t>({{1, 1}})}, "name client 1 twice");
    refused(two, Poll{1, 1, 0, table<std::int32_t>({{1}})}, "selections has 1 polls, poll 1 was needed");
    refused(fixed_system({1, 1}), Poll{1, 1, 1, {}}, "compute durations must be per step");
    SystemModel twice = two;
    twice.work.per_step = 2;
    refused(twice, Poll{1, 1, 1, {}}, "one gradient a step and nothing beside");
}

}  // namespace

int main() {
    mailbox_overwrites();
    mailbox_on_demand();
    mailbox_keeps_stored_jobs_open();
    poll_by_hand();
    poll_instants();
    refused_arguments();
    return report("policies");
}
