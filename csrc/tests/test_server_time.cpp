// What changes when the server's own work takes time: hand-made timelines of all policies, and
// laws.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

SystemModel slow_server(SystemModel system, std::int64_t quarters) {
    system.server_ns = quarters * kQuarter;
    return system;
}

StreamPolicy self_stream(std::uint32_t clients, std::uint32_t buffer) { return fresh_stream(clients, buffer, kAnyStaleness, false); }

/// Client 0 takes 1 s, client 1 takes 2 s, an update 0.75 s. Who starts while the server works
/// starts from the version before.
void stream_by_hand() {
    const Plan plan(slow_server(fixed_system({1, 2}), 3), self_stream(2, 2), updates(4));
    check_update(plan, 0, 11, {{0, 0, 0}, {0, 1, 0}});
    check_update(plan, 1, 15, {{1, 0, 1}, {0, 2, 1}});
    check_update(plan, 2, 19, {{0, 3, 1}, {1, 1, 2}});
    check_update(plan, 3, 27, {{0, 4, 1}, {0, 5, 0}});
    check(find_job(plan, 0, 2).base == 0 && find_job(plan, 0, 2).t_dispatch == 2 * kSecond, "a place is filled at once");
}

/// A result a second, and two seconds an update: what arrives queues. A version that is done when a
/// client starts is there.
void a_server_that_falls_behind() {
    const Plan plan(slow_server(fixed_system({1}), 8), self_stream(1, 1), updates(6));
    for (std::int32_t u = 0; u < 6; ++u)
        check_update(plan, static_cast<std::size_t>(u), 12 + 8 * u, {{0, u, std::vector{0, 1, 2, 2, 3, 3}[static_cast<std::size_t>(u)]}});
    Budget budget = updates(100);
    budget.time_ns = 9 * kSecond - 1;
    const Plan cut(slow_server(fixed_system({1}), 8), self_stream(1, 1), budget);
    check(cut.ended_by == "time" && cut.updates.time.size() == 3, "an update that is not done by the end is not made");
    check(find_job(cut, 0, 3).t_arrive == 4 * kSecond && cut.jobs.consumed_by[3] == kNotConsumed, "and its jobs are not consumed");
}

void rounds_by_hand() {
    const Plan plan(slow_server(fixed_system({1, 2}), 2), Rounds{}, updates(2));
    check_update(plan, 0, 10, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 20, {{0, 1, 0}, {1, 1, 0}});
    check(find_job(plan, 0, 1).t_dispatch == 10 * kQuarter, "a round begins when the update before it is done");
}

/// A poll a second, of one client with four steps a second; an update takes half a second, during
/// which the client waits.
void poll_by_hand() {
    SystemModel system = slow_server(fixed_system({0.25}), 2);
    system.compute = Durations("compute", DurationKind::constant, {0.25}, {}, true, {});
    const Plan plan(system, Poll{kSecond, 10, 1, {}}, updates(3));
    for (std::int32_t u = 0; u < 3; ++u) check_update(plan, static_cast<std::size_t>(u), 6 + 4 * u, {{0, u, 0}});
    check(find_job(plan, 0, 0).steps == 4 && find_job(plan, 0, 1).steps == 2, "steps until the poll");
    check(find_job(plan, 0, 1).t_dispatch == 6 * kQuarter, "it starts again from the version that results");
}

/// A download takes 0.25 s, a job 1 s, an update 0.5 s: versions are sent when they are done.
void versions_that_are_sent() {
    const SystemModel system = slow_server(fixed_system({1}, 0.25), 2);
    for (const PolicyConfig& policy :
         {PolicyConfig(Broadcast{1, Receive::pop}), PolicyConfig(Mailbox{1, Send::continuous, Receive::pop, {}})}) {
        const Plan plan(system, policy, updates(2));
        check_update(plan, 0, 7, {{0, 0, 0}});
        check_update(plan, 1, 14, {{0, 1, 0}});
        check(find_job(plan, 0, 1).t_dispatch == 7 * kQuarter && find_job(plan, 0, 1).t_start == 8 * kQuarter, "sent when it is done");
    }
}

/// The staleness at which a job is consumed counts the updates that are still being made.
void refused_by_staleness() {
    for (bool stops : {false, true}) {
        const Plan plan(slow_server(random_system(30, 3), 1), fresh_stream(30, 1, 5, stops), updates(1000));
        std::int32_t most = 0;
        for (std::size_t i = 0; i < plan.jobs.size(); ++i)
            if (plan.jobs.consumed_by[i] >= 0) most = std::max(most, plan.jobs.consumed_by[i] - plan.jobs.base[i]);
        check(most == 5, "nothing staler is consumed, got " + std::to_string(most));
    }
}

std::vector<PolicyConfig> all_policies() {
    return {Rounds{Select::without_replacement, 7, {}, {}},
            stream(11, 4),
            StreamPolicy{11, 4, Restart::self, DispatchOrder::before_update, {}, {}, false},
            Broadcast{6, Receive::pop},
            Broadcast{6, Receive::peek},
            Mailbox{7, Send::continuous, Receive::peek, {}},
            Mailbox{7, Send::on_demand, Receive::pop, {}},
            Poll{3 * kSecond, 4, 5, {}},
            routed(30, 41, 2)};
}

/// A system whose server is about as fast as its clients. Downloads and computing times are as
/// every policy takes them.
SystemModel random_slow_server(std::int64_t server_ns) {
    SystemModel system = random_system(30, 7);
    system.download = seconds("download", {0.15});
    system.compute = Durations("compute", DurationKind::exponential, {0.1}, {}, true, {});
    system.server_ns = server_ns;
    return system;
}

void laws() {
    for (const PolicyConfig& policy : all_policies()) {
        const std::string name = "policy " + std::to_string(policy.index()) + ": ";
        const std::int64_t server_ns = kQuarter;
        const Plan plan(random_slow_server(server_ns), policy, updates(300));
        const std::vector<std::int64_t>& time = plan.updates.time;
        check(time.size() == 300, name + "all updates");
        bool apart = true, exists = true, is_newest = true;
        for (std::size_t u = 1; u < time.size(); ++u) apart = apart && time[u] >= time[u - 1] + server_ns;
        const bool takes_newest = !std::holds_alternative<Broadcast>(policy) && !std::holds_alternative<Mailbox>(policy);
        for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
            const Job job = plan.job(i);
            const auto done = std::upper_bound(time.begin(), time.end(), job.t_dispatch) - time.begin();
            exists = exists && job.base <= done;
            is_newest = is_newest && job.base == done;
            if (plan.jobs.consumed_by[i] >= 0)
                exists = exists && job.t_arrive + server_ns <= time[static_cast<std::size_t>(plan.jobs.consumed_by[i])];
        }
        check(apart, name + "one update after the other");
        check(exists, name + "no job starts from a version that is not done, and none is consumed before the work on it");
        check(is_newest || !takes_newest, name + "jobs start from the newest version that is done");
        check(same_plan(plan, Plan(random_slow_server(server_ns), policy, updates(300), 1)), name + "the same plan for every cutting");
        check(plan.end > Plan(random_slow_server(0), policy, updates(300)).end, name + "the work takes time");
    }
}

void refused_arguments() {
    check_throws<std::invalid_argument>([] { Scheduler(slow_server(fixed_system({1}), -1), Rounds{}, updates(1)); }, "server_seconds");
    check_throws<std::invalid_argument>([] { Scheduler(slow_server(fixed_system({1}), 1), Turns{}, updates(1)).next(1); }, "turns");
    SystemModel endless = fixed_system({1});
    endless.server_ns = std::numeric_limits<std::int64_t>::max();
    const Plan plan(endless, self_stream(1, 1), {5, 100 * kSecond, 1000});
    check(plan.ended_by == "time" && plan.updates.time.empty(), "work that never ends");
}

}  // namespace

int main() {
    stream_by_hand();
    a_server_that_falls_behind();
    rounds_by_hand();
    poll_by_hand();
    versions_that_are_sent();
    refused_by_staleness();
    laws();
    refused_arguments();
    return report("server_time");
}
