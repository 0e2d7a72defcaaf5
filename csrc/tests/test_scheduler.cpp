// The virtual clock: hand-made timelines per policy, budgets, the event queue, and errors.
#include <algorithm>
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

// ---- timelines by hand; times in quarters of a second ----

/// Client 0: 0.5 + 1 + 0.25 = 1.75 s, client 1: 0.5 + 3 + 0.25 = 3.75 s. The second round starts
/// when the first one ends.
void rounds_by_hand() {
    const SystemModel system = fixed_system({1, 3}, 0.5, 0.25);
    const Plan plan(system, Rounds{}, updates(2));
    check_update(plan, 0, 15, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 30, {{0, 1, 0}, {1, 1, 0}});
    const Job last = plan.job(3);
    check(last.t_dispatch == 15 * kQuarter && last.t_start == 17 * kQuarter && last.t_finish == 29 * kQuarter &&
              last.t_arrive == 30 * kQuarter,
          "dispatch + download = start, + compute = finish, + upload = arrival");
    check(plan.ended_by == "updates" && plan.jobs.size() == 4 && plan.totals.jobs_created == 4 && plan.totals.downloads == 4, "totals");

    const Plan drawn_twice(system, Rounds{Select::scripted, 0, {}, table<std::int32_t>({{1, 0, 1}, {0}})}, updates(2));
    check_update(drawn_twice, 0, 15, {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}});
    check_update(drawn_twice, 1, 22, {{0, 1, 0}});
    check(drawn_twice.jobs.size() == 3, "a client drawn twice runs once");
}

/// Clients take 1, 2, 1.5 s; 0 and 1 begin. 1 s: 0 arrives, 2 starts. 2 s: 1 arrives, update, 0
/// starts. 2.5 s: 2 arrives, 1 starts. 3 s: 0 arrives, update. Before the update, the job that
/// client 0 starts at 2 s has the old model.
void stream_by_hand() {
    const SystemModel system = fixed_system({1, 2, 1.5});
    StreamPolicy policy{2, 2, Restart::resample, DispatchOrder::after_update, {0, 1}, {2, 0, 1, 2}, true};
    const Plan after(system, policy, updates(2));
    check_update(after, 0, 8, {{0, 0, 0}, {1, 0, 0}});
    check_update(after, 1, 12, {{2, 0, 1}, {0, 1, 0}});
    check(after.jobs.size() == 5 && after.jobs.consumed_by[4] == kNotConsumed, "the job in flight is reported and not consumed");
    check(after.job(4).client == 1 && after.job(4).base == 1 && after.job(4).t_arrive == 18 * kQuarter, "the job in flight");

    policy.order = DispatchOrder::before_update;
    const Plan before(system, policy, updates(2));
    check_update(before, 0, 8, {{0, 0, 0}, {1, 0, 0}});
    check_update(before, 1, 12, {{2, 0, 1}, {0, 1, 1}});

    // 1 and 2.5 s, restarting themselves: 0 arrives at 1 and 2 (update), 1 at 2.5, 0 at 3 (update).
    const Plan self(fixed_system({1, 2.5}), StreamPolicy{2, 2, Restart::self, DispatchOrder::after_update, {0, 1}, {}, false}, updates(2));
    check_update(self, 0, 8, {{0, 0, 0}, {0, 1, 0}});
    check_update(self, 1, 12, {{1, 0, 1}, {0, 2, 0}});
}

/// All arrivals of one instant in client order; the second update of the instant makes the later
/// arrivals staler.
void ties_by_hand() {
    const StreamPolicy policy{4, 2, Restart::self, DispatchOrder::after_update, {3, 1, 0, 2}, {}, false};
    const Plan plan(fixed_system({1, 1, 1, 1}), policy, updates(4));
    check_update(plan, 0, 4, {{0, 0, 0}, {1, 0, 0}});
    check_update(plan, 1, 4, {{2, 0, 1}, {3, 0, 1}});
    check_update(plan, 2, 8, {{0, 1, 0}, {1, 1, 0}});
    check_update(plan, 3, 8, {{2, 1, 1}, {3, 1, 1}});
}

/// Download 0.5, compute 1 and 2, upload 0.25. pop: both arrive (1.75, 2.75 s), update, the new
/// model is there at 3.25 s. peek: both start again at once on version 0, which they still hold;
/// client 0 arrives at 3 and 4.25 s.
void broadcast_by_hand() {
    const SystemModel system = fixed_system({1, 2}, 0.5, 0.25);
    const Plan pop(system, Broadcast{2, Receive::pop}, updates(2));
    check_update(pop, 0, 11, {{0, 0, 0}, {1, 0, 0}});
    check_update(pop, 1, 22, {{0, 1, 0}, {1, 1, 0}});
    check(pop.job(2).t_dispatch == 11 * kQuarter && pop.job(2).t_start == 13 * kQuarter, "dispatched when the version was sent");
    check(pop.totals.downloads == 4, "two versions were sent to two clients");

    const Plan peek(system, Broadcast{2, Receive::peek}, updates(2));
    check_update(peek, 0, 11, {{0, 0, 0}, {1, 0, 0}});
    check_update(peek, 1, 17, {{0, 1, 1}, {0, 2, 1}});
}

/// Client 0 has the model at once and takes 1 s; every arrival is an update. Client 1 starts
/// version 0 at 0.5 s and arrives at 2.75 s; by then versions 1 and 2 have come, and it starts the
/// newer one. At 5 s both arrive, in client order.
void broadcast_keeps_the_newest() {
    const SystemModel system{
        2, 0, seconds("compute", {1, 2.25}), seconds("download", {0, 0.5}), seconds("upload", {0}), Steps::constant({1})};
    const Plan plan(system, Broadcast{1, Receive::pop}, updates(7));
    check_update(plan, 0, 4, {{0, 0, 0}});
    check_update(plan, 1, 8, {{0, 1, 0}});
    check_update(plan, 2, 11, {{1, 0, 2}});
    check_update(plan, 3, 12, {{0, 2, 1}});
    check_update(plan, 4, 16, {{0, 3, 0}});
    check_update(plan, 5, 20, {{0, 4, 0}});
    check_update(plan, 6, 20, {{1, 1, 4}});
    check(plan.job(6).t_dispatch == 8 * kQuarter && plan.job(6).t_start == 11 * kQuarter, "dispatched when version 2 was sent");
}

void start_time() {
    SystemModel system = fixed_system({1});
    system.start_ns = 10 * kSecond;
    check_update(Plan(system, Rounds{}, updates(1)), 0, 44, {{0, 0, 0}});
    check(Plan(system, Rounds{}, {1, 9 * kSecond, 10}).ended_by == "time", "a prelude longer than the budget");
}

void budgets() {
    const SystemModel system = fixed_system({1, 2});
    const Plan time(system, Rounds{}, {100, 4 * kSecond, 1000});
    check(time.updates.time.size() == 2 && time.ended_by == "time" && time.end == 4 * kSecond, "an update at the last instant happens");
    const Plan earlier(system, Rounds{}, {100, 4 * kSecond - 1, 1000});
    check(earlier.updates.time.size() == 1 && earlier.end == 4 * kSecond - 1, "one nanosecond less, and it does not");
    const Plan jobs(system, Rounds{}, {100, 1000 * kSecond, 6});
    check(jobs.updates.time.size() == 2 && jobs.ended_by == "jobs" && jobs.jobs.size() == 6, "no event after the cap on jobs");
    check(Plan(system, Rounds{}, updates(3)).ended_by == "updates", "updates");
}

/// The event queue against a sorted list, with pops and pushes in every mixture.
void event_queue() {
    RandomStream random(14, Purpose::compute);
    EventQueue queue;
    std::vector<Event> model;
    bool ordered = true;
    for (int i = 0; i < 20000; ++i) {
        const bool grow = (i / 500) % 2 == 0;
        if (model.empty() || random.below(4) < (grow ? 3u : 1u)) {
            const Event event(random.below(50), static_cast<Phase>(random.below(7)), random.below(20), random.below(1000));
            queue.push(event);
            model.insert(std::upper_bound(model.begin(), model.end(), event), event);
        } else {
            const Event top = queue.top(), popped = queue.pop(), want = model.front();
            model.erase(model.begin());
            ordered = ordered && popped.time == want.time && popped.order == want.order && top.time == want.time && top.order == want.order;
        }
        ordered = ordered && queue.size() == model.size() && queue.empty() == model.empty();
    }
    check(ordered, "pops in order of (time, phase, client)");
    const Event event(5, Phase::dispatch, 0x7fffffff, 0x3ffffffe);
    check(event.phase() == Phase::dispatch && event.client() == 0x7fffffff && event.slot() == 0x3ffffffe, "phase, client and slot fit");
}

// ---- errors ----

void refused_arguments() {
    const SystemModel three = fixed_system({1, 1, 1});
    const auto refused = [](const SystemModel& system, const PolicyConfig& policy, const Budget& budget, std::string_view part,
                            std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>([&] { Scheduler(system, policy, budget).next(10); }, part, at);
    };
    refused(three, stream(4, 1), updates(1), "concurrency 4 is more than the 3 clients");
    refused(three, stream(0, 1), updates(1), "concurrency must be >= 1");
    refused(three, stream(1, 0), updates(1), "buffer_size must be >= 1");
    refused(three, StreamPolicy{2, 1, Restart::self, DispatchOrder::after_update, {0}, {}, false}, updates(1), "initial lists 1 clients");
    refused(three, StreamPolicy{2, 1, Restart::self, DispatchOrder::after_update, {1, 1}, {}, false}, updates(1),
            "initial lists client 1 twice");
    refused(three, StreamPolicy{1, 1, Restart::self, DispatchOrder::after_update, {3}, {}, false}, updates(1), "initial names client 3");
    refused(three, StreamPolicy{1, 1, Restart::resample, DispatchOrder::after_update, {0}, {1}, true}, updates(9),
            "replacements has 1 entries");
    refused(three, Broadcast{4, Receive::pop}, updates(1), "at most once per version");
    refused(three, Broadcast{0, Receive::pop}, updates(1), "must be >= 1");
    refused(three, Rounds{Select::without_replacement, 4, {}, {}}, updates(1), "more than the 3 clients");
    refused(three, Rounds{Select::with_replacement, 0, {}, {}}, updates(1), "cohort_size must be >= 1");
    refused(three, Rounds{Select::weighted, 1, {0.5}, {}}, updates(1), "expected 3 probabilities, got 1");
    refused(three, Rounds{Select::scripted, 0, {}, table<std::int32_t>({{0}})}, updates(2), "round 1 was needed");
    refused(three, Rounds{Select::scripted, 0, {}, table<std::int32_t>({{3}})}, updates(1), "name client 3");
    refused(three, Rounds{Select::scripted, 0, {}, table<std::int32_t>({{}})}, updates(1), "are empty");
    refused(three, Rounds{}, {0, kSecond, 1}, "budget.updates");
    refused(three, Rounds{}, {1, -1, 1}, "budget.seconds");
    refused(three, Rounds{}, {1, kSecond, 0}, "budget.jobs");
    refused(fixed_system({0, 1}), Rounds{}, updates(1), "zero cycle time");
    check_throws<std::invalid_argument>([&] { Scheduler(three, Rounds{}, updates(1)).next(0); }, "max_updates");

    SystemModel wrong = three;
    wrong.upload = seconds("upload", {1, 2});
    refused(wrong, Rounds{}, updates(1), "upload: expected 1 or 3 values");
    wrong = three;
    wrong.steps = Steps::constant({1, 2});
    refused(wrong, Rounds{}, updates(1), "steps: expected 1 or 3 values");
    wrong = three;
    wrong.clients = 0;
    refused(wrong, Rounds{}, updates(1), "clients: must be between 1");
    wrong = three;
    wrong.compute = Durations("compute", DurationKind::table, {}, {}, false, table<double>({{1}, {1}, {1}}));
    refused(wrong, Rounds{}, updates(2), "the list of client 0 has 1 entries, entry 1 was needed");
    wrong = three;
    wrong.download = Durations("download", DurationKind::exponential, {1}, {}, false, {});
    refused(wrong, Broadcast{1, Receive::pop}, updates(1), "download times must be constant");
}

/// A round of a nanosecond has no result, and so has the next.
void no_update_for_ever() {
    const SystemModel three = fixed_system({1, 2, 3});
    Rounds rounds;
    rounds.deadline_ns = 1;
    check_throws<std::invalid_argument>([&] { Scheduler(three, rounds, updates(1)).next(1); }, "jobs began since the last one");
    rounds.deadline_ns = kSecond;
    check(Plan(three, rounds, updates(1'000'000)).updates.time.size() == 1'000'000, "jobs are counted from the last update");
    check_throws<std::invalid_argument>([&] { Scheduler(three, stream(3, 1 << 30), updates(1)).next(1); }, "or updates fewer arrivals");
}

}  // namespace

int main() {
    rounds_by_hand();
    stream_by_hand();
    ties_by_hand();
    broadcast_by_hand();
    broadcast_keeps_the_newest();
    start_time();
    budgets();
    event_queue();
    refused_arguments();
    no_update_for_ever();
    return report("scheduler");
}
