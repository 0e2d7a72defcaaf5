// Laws that hold for every drawn plan, whatever the policy.
#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

/// Busy clients are always `concurrency`: every dispatch after the first ones happens at the time
/// of an arrival, one for one.
void conservation() {
    constexpr std::uint32_t concurrency = 20, buffer = 5;
    const Plan plan(random_system(50, 11), stream(concurrency, buffer), updates(4000));
    std::vector<std::int64_t> dispatched = plan.jobs.t_dispatch, arrived;
    for (std::int64_t time : plan.jobs.t_arrive)
        if (time < plan.end) arrived.push_back(time);
    std::sort(dispatched.begin(), dispatched.end());
    std::sort(arrived.begin(), arrived.end());
    check(dispatched.size() == arrived.size() + concurrency, "as many places as concurrency");
    bool law = true;
    for (std::size_t i = 0; i < dispatched.size(); ++i) law = law && dispatched[i] == (i < concurrency ? 0 : arrived[i - concurrency]);
    check(law, "a dispatch for every arrival, at its instant");

    std::vector<std::int64_t> last(50, 0), next_k(50, 0);
    std::vector<std::size_t> order(plan.jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return plan.jobs.t_dispatch[a] < plan.jobs.t_dispatch[b]; });
    bool apart = true;
    for (std::size_t i : order) {
        const Job job = plan.job(i);
        apart = apart && job.t_dispatch >= last[job.client] && job.k == next_k[job.client]++;
        last[job.client] = job.t_arrive;
    }
    check(apart, "a client's jobs do not overlap and are numbered in order");
}

double mean_staleness(const Plan& plan, std::size_t first_update) {
    double total = 0;
    std::int64_t count = 0;
    for (std::size_t u = first_update; u + 1 < plan.updates.offsets.size(); ++u)
        for (std::int64_t e = plan.updates.offsets[u]; e < plan.updates.offsets[u + 1]; ++e, ++count)
            total += static_cast<double>(u) - plan.jobs.base[static_cast<std::size_t>(plan.updates.entries[static_cast<std::size_t>(e)])];
    return total / static_cast<double>(count);
}

void staleness_law() {
    StreamPolicy policy = stream(20, 5);
    const double after = mean_staleness(Plan(random_system(50, 12), policy, updates(5000)), 40);
    check(std::abs(after / (19.0 / 5.0) - 1) < 0.01, "mean staleness is (M_c - 1) / M, got " + std::to_string(after));
    policy.order = DispatchOrder::before_update;
    const double before = mean_staleness(Plan(random_system(50, 12), policy, updates(5000)), 40);
    check(std::abs(before / (20.0 / 5.0) - 1) < 0.01, "with dispatch before update M_c / M, got " + std::to_string(before));
}

std::vector<PolicyConfig> all_policies() {
    return {Rounds{},
            Rounds{Select::without_replacement, 7, {}, {}},
            Rounds{Select::with_replacement, 30, {}, {}},
            Rounds{Select::weighted, 9, std::vector<double>(30, 0.5), {}},
            stream(11, 4),
            StreamPolicy{11, 4, Restart::self, DispatchOrder::before_update, {}, {}, false},
            Broadcast{6, Receive::pop},
            Broadcast{6, Receive::peek},
            Mailbox{7, Send::continuous, Receive::pop, {}},
            Mailbox{7, Send::continuous, Receive::peek, {}},
            Mailbox{7, Send::on_demand, Receive::peek, {}},
            Poll{3 * kSecond, 4, 5, {}},
            fresh_stream(30, 3, 4, false),
            fresh_stream(30, 1, 5, true),
            routed(30, 41, 2),
            Turns{Resend::turn},
            Turns{Resend::newest}};
}

void chunk_invariance() {
    SystemModel system = random_system(30, 13);
    system.download = seconds("download", {0.3});  // constant, as Broadcast needs it
    system.steps = Steps::constant({1});
    system.compute = Durations("compute", DurationKind::exponential, {2}, {}, true, {});  // per step, as Poll needs it
    std::size_t index = 0;
    for (const PolicyConfig& policy : all_policies()) {
        const std::string name = "policy " + std::to_string(index++);
        for (const Budget& budget : {updates(60), Budget{1000, 100 * kSecond, 1 << 20}, Budget{1000, 1000 * kSecond, 300}}) {
            const Plan whole(system, policy, budget);
            check(whole.updates.time.size() > 2, name + " has updates");
            for (std::int32_t size : {1, 2, 7})
                check(same_plan(whole, Plan(system, policy, budget, size)), name + " in chunks of " + std::to_string(size));
        }
    }
}

void seeds_and_threads() {
    const auto plan = [](std::uint64_t seed) { return Plan(random_system(30, seed), stream(11, 4), updates(50)); };
    check(!same_plan(plan(1), plan(2)), "another seed, another plan");
    const Plan expected = plan(1);
    std::vector<char> same(4, 0);
    {
        std::vector<std::jthread> workers;
        for (char& mine : same)
            workers.emplace_back([&mine, &expected] {
                Scheduler scheduler(random_system(30, 1), stream(11, 4), updates(50));
                const PlanChunk chunk = scheduler.next(1 << 30);
                mine = chunk.jobs.t_arrive == expected.jobs.t_arrive && chunk.updates.entries == expected.updates.entries;
            });
    }
    for (char mine : same) check(mine != 0, "four threads, four schedulers, one plan");
}

/// Every base that a later chunk uses is among the live ones.
void live_bases() {
    SystemModel system = random_system(30, 15);
    system.download = seconds("download", {0.3});
    system.compute = Durations("compute", DurationKind::exponential, {0.2}, {}, true, {});
    for (const PolicyConfig& policy : all_policies()) {
        Scheduler scheduler(system, policy, updates(40));
        std::vector<std::int32_t> live;
        std::int32_t from = 0;
        bool covered = true;
        for (bool done = false; !done;) {
            const PlanChunk chunk = scheduler.next(3);
            for (std::int32_t base : chunk.jobs.base)
                covered = covered && (base >= from || std::binary_search(live.begin(), live.end(), base));
            live = chunk.live_bases;
            from = scheduler.version() + 1;
            done = chunk.done;
        }
        check(covered, "live_bases covers what later chunks start from");
        check(live.empty(), "nothing lives on after the end");
    }
}

}  // namespace

int main() {
    conservation();
    staleness_law();
    chunk_invariance();
    seeds_and_threads();
    live_bases();
    return report("plan_laws");
}
