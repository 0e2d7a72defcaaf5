// Clients that leave and return, per policy, on scripted windows: hand-made timelines. Times in
// quarters of a second.
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

using Windows = std::vector<std::vector<double>>;
const std::vector<double> kAlways = {0, 1000};

SystemModel with(SystemModel system, const Windows& windows, WhenOffline when_offline = WhenOffline::lost) {
    system.availability = Availability::table(table(windows), 0);
    system.when_offline = when_offline;
    return system;
}

SystemModel per_step(std::vector<double> compute) {
    SystemModel system = fixed_system(compute);
    system.compute = Durations("compute", DurationKind::constant, std::move(compute), {}, true, {});
    return system;
}

Rounds scripted(const std::vector<std::vector<std::int32_t>>& rounds) { return {Select::scripted, 0, {}, table(rounds)}; }

void check_lost(const Job& job, std::int64_t quarters, std::source_location at = std::source_location::current()) {
    check(job.t_lost == quarters * kQuarter && job.t_arrive == kNever, "lost at " + std::to_string(job.t_lost), at);
}

void check_stalled(const SystemModel& system, const PolicyConfig& policy, std::int64_t quarters, const std::vector<std::int32_t>& missing,
                   std::source_location at = std::source_location::current()) {
    Scheduler scheduler(system, policy, updates(100));
    scheduler.next(1 << 30);
    check(scheduler.outcome() == Outcome::stalled && scheduler.ended_by() == "stalled", "stalled", at);
    check(scheduler.now() == quarters * kQuarter, "stalled at " + std::to_string(scheduler.now()), at);
    check(scheduler.missing() == missing, "the clients that it waits for", at);
}

/// Both take 2 s; client 0 is away on [1, 3). Lost: round 1 starts at 2 s without it. Paused: its
/// first job ends at 4 s.
void rounds() {
    const Windows windows = {{0, 1, 3, 1000}, kAlways};
    const Plan lost(with(fixed_system({2, 2}), windows), Rounds{}, updates(3));
    check_update(lost, 0, 8, {{1, 0, 0}});
    check_update(lost, 1, 16, {{1, 1, 0}});
    check_update(lost, 2, 24, {{0, 1, 0}, {1, 2, 0}});
    check_lost(find_job(lost, 0, 0), 4);
    check(find_job(lost, 0, 0).t_start == 0 && find_job(lost, 0, 0).t_finish == kNever, "it had started");

    const Plan paused(with(fixed_system({2, 2}), windows, WhenOffline::paused), Rounds{}, updates(2));
    check_update(paused, 0, 16, {{1, 0, 0}, {0, 0, 0}});
    check_update(paused, 1, 24, {{0, 1, 0}, {1, 1, 0}});

    const SystemModel slow = with(fixed_system({1, 1}, 0.5, 0.5), {{0, 1.5, 3, 3.75, 5, 1000}, kAlways}, WhenOffline::paused);
    const Job job = find_job(Plan(slow, Rounds{}, updates(2)), 0, 1);
    check(job.t_dispatch == 14 * kQuarter && job.t_start == 21 * kQuarter && job.t_finish == 25 * kQuarter && job.t_arrive == 27 * kQuarter,
          "downloads, runs and uploads rest");
}

/// What ends when the client leaves has ended in time, and a round with nobody waits for the first
/// return.
void rounds_wait() {
    const SystemModel system = with(fixed_system({2, 2}), {{1, 3, 5, 10}, {6, 9}});
    const Plan plan(system, Rounds{}, updates(2));
    check_update(plan, 0, 12, {{0, 0, 0}});
    check_update(plan, 1, 28, {{0, 1, 0}});
    check_stalled(system, Rounds{}, 40, {0, 1});
    const Plan cohort(system, scripted({{1}, {1, 1, 0}}), updates(2));
    check_update(cohort, 0, 32, {{1, 0, 0}});
    check_update(cohort, 1, 40, {{0, 0, 0}});
    check_lost(find_job(cohort, 1, 1), 36);
    check_stalled(system, scripted({{1}, {0}, {1}}), 40, {1});
    check_stalled(with(fixed_system({2, 2}), {{0, 3}, {0, 3}}, WhenOffline::paused), Rounds{}, 12, {0, 1});
}

/// Of five clients the odd ones are there: drawn cohorts are made of them, and are smaller than
/// asked where they must be.
void drawn_cohorts() {
    const SystemModel system = with(fixed_system({1, 1, 1, 1, 1}), {{900, 901}, kAlways, {900, 901}, kAlways, {900, 901}});
    for (const Rounds& policy :
         {Rounds{Select::without_replacement, 2, {}, {}}, Rounds{Select::without_replacement, 4, {}, {}}, Rounds{}}) {
        const Plan plan(system, policy, updates(1));
        check_update(plan, 0, 4, {{1, 0, 0}, {3, 0, 0}});
    }
    for (const Rounds& policy :
         {Rounds{Select::with_replacement, 9, {}, {}}, Rounds{Select::weighted, 9, {1e6, 1, 1, 1, 1}, {}}}) {  // 0 would be drawn for ever
        const Plan plan(system, policy, updates(20));
        check(plan.updates.entries.size() == 180, "as many entries as asked");
        std::int64_t ones = 0;
        for (std::int64_t entry : plan.updates.entries) ones += plan.job(static_cast<std::size_t>(entry)).client == 1;
        check(ones > 60 && ones < 120, "both clients are drawn: " + std::to_string(ones));
    }
}

/// Jobs of 2 s, one place. Client 0 leaves at 1 s: client 1 follows. Alone, its place stays vacant
/// until it is back at 4 s.
void streams() {
    StreamPolicy policy{1, 1, Restart::resample, DispatchOrder::after_update, {0}, {}, false};
    const SystemModel two = with(fixed_system({2, 2}), {{0, 1}, kAlways});
    for (DispatchOrder order : {DispatchOrder::after_update, DispatchOrder::before_update}) {
        policy.order = order;
        const Plan plan(two, policy, updates(3));
        check_lost(find_job(plan, 0, 0), 4);
        const std::int32_t late = order == DispatchOrder::before_update;
        check_update(plan, 0, 12, {{1, 0, 0}});
        check_update(plan, 1, 20, {{1, 1, late}});
        check_update(plan, 2, 28, {{1, 2, late}});
    }
    const SystemModel one = with(fixed_system({2}), {{0, 1, 4, 7}});
    for (Restart restart : {Restart::resample, Restart::self}) {
        policy.restart = restart;
        check_update(Plan(one, policy, updates(1)), 0, 24, {{0, 1, 0}});
        check_stalled(one, policy, 28, {0});
    }
    policy = {1, 1, Restart::resample, DispatchOrder::after_update, {0}, {1, 0, 0, 0}, true};
    const Plan kept(with(fixed_system({2, 2}), {{3, 100}, {6, 100}}), policy, updates(2));
    check_update(kept, 0, 20, {{0, 0, 0}});
    check_update(kept, 1, 32, {{1, 0, 0}});
}

/// Two places for clients of whom at first only 2 is there; 1 returns at 1 s and 0 at 5 s. Jobs of
/// 2 s, three arrivals an update.
void stream_fills_vacant_places() {
    const SystemModel system = with(fixed_system({2, 2, 2}), {{5, 100}, {1, 4}, {0, 100}});
    StreamPolicy policy = stream(2, 3);
    const Plan plan(system, policy, updates(2));
    check_update(plan, 0, 16, {{2, 0, 0}, {1, 0, 0}, {2, 1, 0}});  // at 2, 3 and 4 s; at 3 s client 1 starts again, and leaves at 4 s
    check_lost(find_job(plan, 1, 1), 16);
    check_update(plan, 1, 32, {{2, 2, 0}, {0, 0, 0}, {2, 3, 0}});  // 0 takes the vacant place at 5 s
}

/// Jobs of 2 s; client 0 is away on [1, 2.5). Peek: it starts version 0 again. Pop: it waits for
/// version 1 of 3 s.
void broadcasts() {
    const SystemModel system = with(fixed_system({2, 3}), {{0, 1, 2.5, 1000}, kAlways});
    const Plan peek(system, Broadcast{1, Receive::peek}, updates(2));
    check_update(peek, 0, 12, {{1, 0, 0}});
    check_update(peek, 1, 18, {{0, 1, 1}});
    const Plan pop(system, Broadcast{1, Receive::pop}, updates(2));
    check_update(pop, 0, 12, {{1, 0, 0}});
    check_update(pop, 1, 20, {{0, 1, 0}});
    check_stalled(with(fixed_system({2, 3}), {{0, 1, 2.5, 1000}, {0, 3}}), Broadcast{2, Receive::pop}, 12, {0});

    SystemModel far = with(fixed_system({2, 3}), {{2, 1000}, kAlways});
    far.download = seconds("download", {1, 0});
    const Plan plan(far, Broadcast{1, Receive::pop}, updates(2));
    check(find_job(plan, 0, 0).t_start == 8 * kQuarter, "the download came while it was away");
    check_update(plan, 1, 16, {{0, 0, 1}});
}

/// Client 0 takes 1 s and is away on [1.5, 3), client 1 takes 2 s.
void mailboxes() {
    const SystemModel system = with(fixed_system({1, 2}), {{0, 1.5, 3, 1000}, kAlways});
    const Plan run(system, Mailbox{0, Send::continuous, Receive::peek, table<std::int32_t>({{0, 1}, {0, 1}, {0, 1}})}, updates(3));
    check_update(run, 0, 8, {{0, 0, 0}, {1, 0, 0}});
    check_lost(find_job(run, 0, 1), 6);
    check_update(run, 1, 16, {{1, 1, 0}});  // 0 was away when it was drawn, at 2 s
    check_update(run, 2, 24, {{0, 2, 1}, {1, 2, 0}});

    // Its result of 1 s is lost at 1.5 s; of round 1 nobody is left, and the next event of 2 s
    // draws again.
    const Plan stored(system, Mailbox{0, Send::continuous, Receive::pop, table<std::int32_t>({{1}, {0}, {1}})}, updates(2));
    check_lost(find_job(stored, 0, 0), 6);
    check(find_job(stored, 0, 0).t_finish == kSecond, "it had finished");
    check_update(stored, 1, 16, {{1, 1, 0}});

    // The server waits for client 0, which leaves: what client 1 sent makes the update.
    const Plan waits(with(fixed_system({2, 1}), {{0, 1.5, 3, 1000}, kAlways}),
                     Mailbox{0, Send::on_demand, Receive::peek, table<std::int32_t>({{0, 1}, {1}})}, updates(2));
    check_update(waits, 0, 6, {{1, 0, 0}});
    check_update(waits, 1, 8, {{1, 1, 1}});

    // Paused, its result of 1 s keeps, and the run since then goes on at 3 s.
    const Plan paused(with(fixed_system({1, 2}), {{0, 1.5, 3, 1000}, kAlways}, WhenOffline::paused),
                      Mailbox{0, Send::continuous, Receive::peek, table<std::int32_t>({{1}, {1}, {0}})}, updates(3));
    check_update(paused, 2, 16, {{0, 1, 2}});
    check(find_job(paused, 0, 1).t_finish == 14 * kQuarter, "half before, half after");
}

/// Steps of 1 s, polls every 2 s, client 0 is away on [3, 5).
void polls() {
    const Poll policy{2 * kSecond, 5, 0, table<std::int32_t>({{0}, {0}, {0}, {0, 1}})};
    const Windows windows = {{0, 3, 5, 1000}, kAlways};
    const Plan lost(with(per_step({1, 1}), windows), policy, updates(3));
    check_update(lost, 0, 8, {{0, 0, 0}});
    check_lost(find_job(lost, 0, 1), 12);
    check_update(lost, 1, 24, {{0, 2, 0}});
    check(find_job(lost, 0, 2).steps == 1 && find_job(lost, 0, 2).t_dispatch == 20 * kQuarter, "it started at its return");
    check_update(lost, 2, 32, {{0, 3, 0}, {1, 0, 2}});

    const Plan paused(with(per_step({1, 1}), windows, WhenOffline::paused), policy, updates(3));
    check_update(paused, 1, 24, {{0, 1, 0}});
    check(find_job(paused, 0, 1).steps == 2 && find_job(paused, 0, 1).t_lost == kNever, "steps are of time online");
    check(find_job(paused, 1, 0).steps == 5 && find_job(paused, 1, 0).t_finish == 20 * kQuarter, "client 1 was not disturbed");
    const Poll one{2 * kSecond, 5, 0, table<std::int32_t>({{0}, {0}})};
    check_stalled(with(per_step({1, 1}), {{0, 1}, {0, 3}}), one, 16, {0, 1});
}

}  // namespace

int main() {
    rounds();
    rounds_wait();
    drawn_cohorts();
    streams();
    stream_fills_vacant_places();
    broadcasts();
    mailboxes();
    polls();
    return report("absence");
}
