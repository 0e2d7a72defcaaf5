// External selection: the scheduler asks at a round's start, and says what it cannot take.
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

using Clients = std::vector<std::int32_t>;
const Rounds kExternal{Select::external, 0, {}, {}};

/// Clients take 1, 2 and 3 s; client 0 is away on [1, 4).
SystemModel system() {
    SystemModel model = fixed_system({1, 2, 3});
    model.availability = Availability::table(table<double>({{0, 1, 4, 100}, {0, 100}, {0, 100}}), 0);
    return model;
}

void asks_at_every_round() {
    Scheduler scheduler(system(), kExternal, updates(3));
    const PlanChunk nothing = scheduler.next(9);
    check(nothing.updates.time.empty() && !nothing.done && scheduler.is_asking(), "asks before the first round");
    check(scheduler.available() == Clients({0, 1, 2}), "everybody is there");
    scheduler.select({1, 0, 1});
    const PlanChunk first = scheduler.next(9);
    check(first.updates.time == std::vector<std::int64_t>{2 * kSecond} && first.updates.entries == std::vector<std::int64_t>({0, 1, 1}),
          "the first round");
    check(scheduler.is_asking() && scheduler.available() == Clients({1, 2}), "client 0 is away");
    scheduler.select({0, 2});
    const PlanChunk second = scheduler.next(1);
    check(second.jobs.client == Clients({2}) && second.updates.time[0] == 5 * kSecond && !scheduler.is_asking(), "without client 0");
    check(scheduler.next(9).updates.time.empty() && scheduler.is_asking(), "asks when it goes on");
    scheduler.select({0});
    check(scheduler.next(9).done && scheduler.end() == 6 * kSecond && !scheduler.is_asking(), "the end");
}

/// Selected clients that are all away are waited for; nobody there at all is not asked about.
void waits() {
    Scheduler scheduler(system(), kExternal, updates(2));
    scheduler.next(9);
    scheduler.select({1});
    scheduler.next(9);
    scheduler.select({0});
    check(scheduler.next(9).updates.time == std::vector<std::int64_t>{5 * kSecond}, "client 0 is back at 4 s");

    SystemModel away = fixed_system({1});
    away.availability = Availability::table(table<double>({{2, 4}}), 0);
    Scheduler later(away, kExternal, updates(9));
    later.next(9);
    check(later.is_asking() && later.now() == 2 * kSecond && later.available() == Clients({0}), "asks when somebody is there");
    later.select({0});
    later.next(9);
    later.select({0});
    check(later.next(9).done && later.outcome() == Outcome::stalled && later.missing() == Clients({0}), "gone for good");
}

void refused() {
    const auto refuses = [](auto action, std::string_view part, std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>(action, part, at);
    };
    Scheduler scheduler(system(), kExternal, updates(3));
    refuses([&] { scheduler.select({0}); }, "nothing is asked");
    scheduler.next(9);
    refuses([&] { scheduler.next(9); }, "answer with select()");
    refuses([&] { scheduler.select({}); }, "at least one client");
    refuses([&] { scheduler.select({0, 3}); }, "there are 3 clients, got client 3");
    refuses([&] { scheduler.select({-1}); }, "got client -1");
    check(scheduler.is_asking(), "it asks on");
    scheduler.select({0});
    refuses([&] { scheduler.select({0}); }, "nothing is asked");
    Scheduler drawn(system(), Rounds{}, updates(3));
    drawn.next(1);
    refuses([&] { drawn.select({0}); }, "nothing is asked");
    Scheduler spare(system(), Rounds{Select::external, 0, {}, {}, 0, 1}, updates(3));
    spare.next(9);
    refuses([&] { spare.select({2}); }, "over_selection 1 leaves nobody of the 1");
    spare.select({2, 1});
    check(spare.next(9).jobs.client == Clients({2, 1}), "the second one is called off");
}

}  // namespace

int main() {
    asks_at_every_round();
    waits();
    refused();
    return report("external");
}
