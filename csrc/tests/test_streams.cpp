// Streams that refuse what is stale, that close by a harmonic mean, or that route tasks to queues:
// hand-made timelines. The laws are in test_plan_laws.cpp, errors in the tests of the Python front
// door.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

std::size_t find(const Plan& plan, std::uint32_t client, std::uint32_t k) {
    for (std::size_t i = 0; i < plan.jobs.size(); ++i)
        if (plan.job(i).client == client && plan.job(i).k == k) return i;
    check(false, "no job " + std::to_string(k) + " of client " + std::to_string(client));
    return 0;
}

/// Clients take 1 and 3.5 s. Versions come at 1, 2 and 3 s, so the first job of client 1 arrives
/// with staleness 3.
void refused_by_hand() {
    const Plan plan(fixed_system({1, 3.5}), fresh_stream(2, 1, 2, false), updates(5));
    check_update(plan, 2, 12, {{0, 2, 0}});
    check_update(plan, 3, 16, {{0, 3, 0}});
    const Job late = plan.job(find(plan, 1, 0));
    check(late.t_arrive == 14 * kQuarter && late.t_stop == kNever, "it arrives, and is not called off");
    check(plan.jobs.consumed_by[find(plan, 1, 0)] == kNotConsumed, "it is too stale");
    check(plan.job(find(plan, 1, 1)).base == 3, "its client goes on with the newest version");
    check_update(Plan(fixed_system({1, 3.5}), fresh_stream(2, 1, 3, false), updates(5)), 3, 14, {{1, 0, 3}});
}

/// The same, stopped as soon as the job is too stale: at 3 s, when version 3 is there, and not
/// before.
void stopped_by_hand() {
    const Plan plan(fixed_system({1, 3.5}), fresh_stream(2, 1, 2, true), updates(8));
    const Job first = plan.job(find(plan, 1, 0)), second = plan.job(find(plan, 1, 1));
    check(first.t_stop == 12 * kQuarter && first.t_finish == kNever && first.t_arrive == kNever, "called off");
    check(second.t_dispatch == 12 * kQuarter && second.base == 3 && second.t_stop == 24 * kQuarter, "started anew, and called off again");
    check(plan.updates.time.back() == 32 * kQuarter, "no event of a stopped job has happened");
    check(plan.totals.open_jobs_peak == 2 && plan.totals.jobs_created == 8 + 3, "two jobs at a time");
}

/// Both arrive at 2 s, client 0 first: its update makes client 1 stale in the same instant, which
/// has arrived and is not stopped.
void stale_in_its_own_instant() {
    const Plan plan(fixed_system({2, 2, 9}), fresh_stream(3, 1, 0, true), updates(2));
    check_update(plan, 0, 8, {{0, 0, 0}});
    check(plan.job(find(plan, 1, 0)).t_arrive == 8 * kQuarter && plan.job(find(plan, 1, 0)).t_stop == kNever, "arrived");
    check(plan.job(find(plan, 2, 0)).t_stop == 8 * kQuarter, "stopped");
    check_update(plan, 1, 16, {{0, 1, 0}});
}

/// Clients take 1 and 3 s, S = 3: at 3 s the shares are 3 and 1, 3 (1/3 + 1) = 4 = N^2, so equality
/// closes the buffer.
void balanced_by_hand() {
    const Plan plan(fixed_system({1, 3}), harmonic_stream(2, 3, false), updates(2));
    check_update(plan, 0, 12, {{0, 0, 0}, {0, 1, 0}, {0, 2, 0}, {1, 0, 0}});
    check_update(plan, 1, 24, {{0, 3, 0}, {0, 4, 0}, {0, 5, 0}, {1, 1, 0}});
    const Plan larger(fixed_system({1, 3}), harmonic_stream(2, 3.01, false), updates(1));
    check(larger.updates.time[0] == 16 * kQuarter, "a larger S waits for one more");
}

/// Client 0 takes 1 s, client 1 takes 2 s; download 0.5 s, upload 0.25 s. Client 1 has two tasks at
/// first.
void queues_by_hand() {
    Routed policy = routed(2, 3, 1);
    policy.initial = {1, 1, 0};
    policy.replacements = {1, 0, 0, 1};
    policy.scripted = true;
    const Plan plan(fixed_system({1, 2}, 0.5, 0.25), policy, updates(3));
    check_update(plan, 0, 7, {{0, 0, 0}});
    check_update(plan, 1, 11, {{1, 0, 1}});
    check_update(plan, 2, 18, {{0, 1, 0}});
    check(plan.job(find(plan, 1, 1)).t_start == 11 * kQuarter, "the next starts when the one before is sent");
    check(plan.job(find(plan, 1, 2)).base == 1 && plan.job(find(plan, 1, 2)).t_start == 20 * kQuarter, "a busy client gets a task");
    check(plan.totals.downloads == 5, "every task is downloaded once");
}

/// A draw on the boundary belongs to the next client, and one beyond all sums to the last.
void routes() {
    const Routing routing({0.25, 0.5, 0.25});
    check(routing.client(0.0) == 0 && routing.client(0.25) == 1 && routing.client(0.75) == 2, "the first sum above");
    std::vector<double> tenths(10, 0.1);
    tenths.back() -= 1e-10;
    check(Routing(tenths).client(1 - 1e-12) == 9, "the last client");
    const double nowhere = std::numeric_limits<double>::quiet_NaN();
    check(routing.client(-1e300) == 0 && routing.client(1e300) == 2 && routing.client(nowhere) == 2,
          "what is no draw reads no other place");
}

/// As a search in the sums says, at every sum and beside it, for equal probabilities and for such
/// that differ by powers of ten.
void routes_by_search() {
    std::mt19937_64 random(1);
    for (int n = 1; n <= 400; ++n) {
        std::vector<double> p(n, 1.0 / n);
        if (n % 2 == 0)
            for (double& one : p) one = std::pow(10.0, -static_cast<double>(random() % 6));
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        for (double& one : p) one /= total;
        std::vector<double> sums(n);
        std::partial_sum(p.begin(), p.end(), sums.begin());
        const Routing routing(p);
        for (double sum : sums)
            for (double u : {std::nextafter(sum, 0.0), sum, std::nextafter(sum, 2.0)}) {
                if (u >= 1) continue;
                const auto found = std::upper_bound(sums.begin(), sums.end(), u) - sums.begin();
                check(routing.client(u) == std::min<std::ptrdiff_t>(found, n - 1), "the first sum above, or the last client");
            }
    }
}

void erased_events() {
    EventQueue queue;
    for (std::uint32_t i = 0; i < 100; ++i) queue.push(Event((i * 37) % 100, Phase::arrival, i, 0));
    check(queue.pop().time == 0, "the least");
    queue.erase_if([](const Event& event) { return event.time % 3 == 0; });
    std::int64_t last = 0;
    std::size_t count = 0;
    for (; !queue.empty(); ++count) {
        const std::int64_t time = queue.pop().time;
        check(time > last && time % 3 != 0, "in order, without those that are gone");
        last = time;
    }
    check(count == 66, "all others are there");
}

}  // namespace

int main() {
    refused_by_hand();
    stopped_by_hand();
    stale_in_its_own_instant();
    balanced_by_hand();
    queues_by_hand();
    routes();
    routes_by_search();
    erased_events();
    return report("streams");
}
