// Turns: hand-made timelines with ties, absence and losses, what is sent, and the laws of its
// rounds. The laws that hold for all policies are in test_plan_laws.cpp.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

constexpr Turns kTurn{Resend::turn}, kNewest{Resend::newest};

/// Client 0 takes 1 s, client 1 takes 3.25 s, a download 0.25 s. The first update waits for client
/// 1; client 0's next arrival is its turn; what it sends then, from the version of its turn, is
/// collected.
void by_hand() {
    const Plan plan(fixed_system({1, 3.25}, 0.25), kTurn, updates(4));
    check_update(plan, 0, 14, {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 0, 0}});
    check_update(plan, 1, 17, {{0, 3, 1}});
    check_update(plan, 2, 28, {{0, 4, 0}, {0, 5, 0}, {1, 1, 1}});
    check_update(plan, 3, 30, {{0, 6, 1}});
    const Job held = find_job(plan, 0, 1), sent = find_job(plan, 0, 4);
    check(held.t_dispatch == 5 * kQuarter && held.t_start == 5 * kQuarter, "a version that the client holds is not sent again");
    check(sent.t_dispatch == 17 * kQuarter && sent.t_start == 18 * kQuarter, "the version of a turn is sent");
    check(plan.totals.downloads == 2 + 3, "both at first, and after the turns of which the plan has seen the end");
}

/// As above, and client 0 starts from version 1 when it arrives after the first update, whoever's
/// turn it is.
void newest_by_hand() {
    const Plan plan(fixed_system({1, 1.75, 4}), kNewest, updates(4));
    check_update(plan, 0, 16, {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 1, 0}, {0, 3, 0}, {2, 0, 0}});
    check_update(plan, 1, 20, {{0, 4, 0}});
    check_update(plan, 2, 21, {{1, 2, 2}});
    check_update(plan, 3, 32, {{0, 5, 1}, {0, 6, 0}, {1, 3, 0}, {0, 7, 0}, {2, 1, 2}});
    check(find_job(plan, 0, 5).base == 2 && find_job(plan, 0, 6).base == 3 && find_job(plan, 0, 7).base == 3, "the newest at its start");
    check(plan.totals.downloads == 3 + 2 + 1 + 1 + 1, "the same version is not sent twice");
}

/// Equal durations: arrivals of an instant in client order, each with its update, then everybody
/// starts. At 3 s client 1 completes what is collected, and client 2, which is drained next, has
/// its turn at once.
void ties() {
    const Plan plan(fixed_system({1, 1, 1}), kTurn, updates(6));
    check_update(plan, 0, 4, {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}});
    check_update(plan, 1, 8, {{0, 1, 1}});
    check_update(plan, 2, 8, {{1, 1, 2}});
    check_update(plan, 3, 12, {{2, 1, 2}, {0, 2, 0}, {1, 2, 0}});
    check_update(plan, 4, 12, {{2, 2, 3}});
    check_update(plan, 5, 16, {{0, 3, 2}});
}

void one_client_is_sgd() {
    for (const Turns& policy : {kTurn, kNewest}) {
        const Plan plan(fixed_system({1}), policy, updates(3));
        for (std::int32_t u : {0, 1, 2}) check_update(plan, static_cast<std::size_t>(u), 4 * (u + 1), {{0, u, 0}});
    }
}

SystemModel absent(SystemModel system, const std::vector<std::vector<double>>& windows) {
    system.availability = Availability::table(table(windows), 0);
    return system;
}

/// Jobs of 1 s, downloads of 0.5 s. Client 1 is away on [2.5, 4): its turn came in the first
/// update, at 1.5 s, and its job is lost.
void lost_jobs() {
    const std::vector<double> always = {0, 1000};
    const Plan plan(absent(fixed_system({1, 1}, 0.5), {always, {0, 2.5, 4, 1000}}), kTurn, updates(4));
    check_update(plan, 0, 6, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 10, {{0, 1, 1}});
    const Job lost = find_job(plan, 1, 1), again = find_job(plan, 1, 2);
    check(lost.base == 1 && lost.t_start == 2 * kSecond && lost.t_lost == 10 * kQuarter, "lost while it runs");
    check(again.base == 1 && again.t_dispatch == 4 * kSecond && again.t_start == 4 * kSecond, "from the version that it holds");
    check_update(plan, 2, 20, {{0, 2, 0}, {0, 3, 0}, {1, 2, 1}});

    // Away on [1.75, 4), before version 1 had come: the newest is sent to it.
    const Plan broken(absent(fixed_system({1, 1}, 0.5), {always, {0, 1.75, 4, 1000}}), kTurn, updates(3));
    const Job unsent = find_job(broken, 1, 1), sent = find_job(broken, 1, 2);
    check(unsent.base == 1 && unsent.t_start == kNever && unsent.t_lost == 7 * kQuarter, "lost while it is sent");
    check(sent.base == 2 && sent.t_dispatch == 4 * kSecond && sent.t_start == 18 * kQuarter, "sent when it is back");
    check(broken.totals.downloads == 2 + 2 + 1, "two at first, a turn each, and once more");

    // Nobody is there at first but client 0, and client 1 never comes.
    Scheduler scheduler(absent(fixed_system({1, 1}), {{0, 3}, {3, 3.5}}), kTurn, updates(3));
    scheduler.next(9);
    check(scheduler.ended_by() == "stalled" && scheduler.missing() == std::vector<std::int32_t>({1}), "client 1 never arrived");
    Scheduler second(absent(fixed_system({1, 1.5}), {{0, 2.25}, {0, 1000}}), kTurn, updates(3));
    second.next(9);
    check(second.version() == 2 && second.missing() == std::vector<std::int32_t>({0}), "client 1 waits for client 0");
}

/// Client 0 leaves at 2.5 s with version 1, of its turn at 2.25 s, while the others have their
/// turns at 3 and 4 s.
void versions_that_idle_clients_hold() {
    Scheduler scheduler(absent(fixed_system({2.25, 1, 2}), {{0, 2.5, 8, 100}, {0, 100}, {0, 100}}), kTurn, updates(6));
    check(scheduler.next(2).live_bases == std::vector<std::int32_t>({0, 1, 2}), "what an absent client holds, a job, and the newest");
    check(scheduler.next(1).live_bases == std::vector<std::int32_t>({1, 2, 3}), "after the turn of client 2");
    check(scheduler.totals().messages_peak == 3, "the same three were kept");
    const PlanChunk last = scheduler.next(9);
    check(std::find(last.jobs.base.begin(), last.jobs.base.end(), 1) != last.jobs.base.end(), "it starts from there at 8 s");
}

/// Every round has as many updates as clients, and everybody's turn once; nothing that arrives is
/// left out; entries of one client in a round are of one version, and none is of more than 2 N - 2
/// updates ago, which is attained.
void rounds_of_turns() {
    for (std::uint32_t clients : {1u, 2u, 5u, 12u}) {
        const SystemModel system = random_system(clients, 7 + clients);
        const Plan plan(system, kTurn, updates(static_cast<std::int32_t>(20 * clients)));
        check(plan.ended_by == "updates", std::to_string(clients) + " clients: a plan of 20 rounds");
        if (plan.ended_by != "updates") continue;
        const auto limit = 2 * static_cast<std::int32_t>(clients) - 2;
        std::int32_t oldest = 0;
        bool alone = true, once = true, one_version = true;
        for (std::size_t round = 0; round < 20; ++round) {
            std::set<std::uint32_t> had_turn;
            std::vector<std::int32_t> base(clients, -1);
            for (std::size_t u = round * clients; u < (round + 1) * clients; ++u) {
                const std::int64_t begin = plan.updates.offsets[u], end = plan.updates.offsets[u + 1];
                alone = alone && (u % clients == 0 ? end - begin >= clients : end - begin == 1);
                for (std::int64_t e = begin; e < end; ++e) {
                    const Job job = plan.job(static_cast<std::size_t>(plan.updates.entries[static_cast<std::size_t>(e)]));
                    one_version = one_version && (base[job.client] == -1 || base[job.client] == job.base);
                    base[job.client] = job.base;
                    if (e + 1 == end) once = once && had_turn.insert(job.client).second;
                }
                for (std::int32_t b : base) oldest = std::max(oldest, static_cast<std::int32_t>(u) - b);
            }
        }
        const std::string name = std::to_string(clients) + " clients: ";
        check(alone, name + "the first update of a round collects, the others consume one job");
        check(once, name + "everybody has one turn a round");
        check(one_version, name + "what counts of a client in a round is of one version");
        bool used = true;
        for (std::size_t i = 0; i < plan.jobs.size(); ++i)  // by the first update of the last round all that has arrived counts
            used = used && (plan.jobs.consumed_by[i] >= 0 || plan.jobs.t_arrive[i] > plan.updates.time[19 * clients]);
        check(used, name + "no job is in vain");
        check(oldest == limit, name + "the oldest entry is of " + std::to_string(oldest) + " updates ago");
    }
}

/// Every job is open, consumed or lost; what was not sent was resumed.
void what_is_sent() {
    SystemModel system = random_system(20, 3);
    system.availability = Availability::alternating({20}, {5});
    system.dropout = Dropout({0.1});
    for (const Turns& policy : {kTurn, kNewest}) {
        Scheduler scheduler(system, policy, updates(100));
        std::size_t resumed = 0;
        bool in_order = true;
        for (bool done = false; !done;) {
            const PlanChunk chunk = scheduler.next(7);
            resumed += chunk.resumed.size();
            in_order = in_order && std::is_sorted(chunk.resumed.begin(), chunk.resumed.end());
            done = chunk.done;
        }
        const PlanTotals& totals = scheduler.totals();
        check(static_cast<std::int64_t>(resumed) + totals.downloads == totals.jobs_created && resumed > 100, "sent or resumed");
        check(in_order, "in order of time");
    }
}

void refused_arguments() {
    for (const Turns& policy : {kTurn, kNewest})
        check_throws<std::invalid_argument>([&] { Scheduler(fixed_system({0, 1}), policy, updates(9)).next(10); }, "zero cycle time");
}

}  // namespace

int main() {
    by_hand();
    newest_by_hand();
    ties();
    one_client_is_sgd();
    lost_jobs();
    versions_that_idle_clients_hold();
    rounds_of_turns();
    what_is_sent();
    refused_arguments();
    return report("turns");
}
