// Save and restore: the same plan from there on, for every policy; and what is refused.
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

SystemModel system(std::uint64_t seed = 5) {
    SystemModel model = random_system(30, seed);
    model.download = seconds("download", {0.3});
    model.compute = Durations("compute", DurationKind::exponential, {1}, {}, true, {});
    model.steps = Steps::constant({2});
    model.availability = Availability::alternating({20}, {5});
    model.dropout = Dropout({0.1});
    return model;
}

std::vector<PolicyConfig> policies() {
    return {Rounds{Select::without_replacement, 7, {}, {}, 3 * kSecond, 2},
            Rounds{Select::with_replacement, 30, {}, {}},
            stream(11, 4),
            StreamPolicy{11, 4, Restart::self, DispatchOrder::before_update, {}, {}, false},
            Broadcast{3, Receive::peek},
            Mailbox{7, Send::continuous, Receive::pop, {}},
            Mailbox{7, Send::on_demand, Receive::peek, {}},
            Poll{3 * kSecond, 4, 5, {}},
            fresh_stream(30, 2, 3, true),
            harmonic_stream(30, 31, false),
            Turns{Resend::turn},
            Turns{Resend::newest}};
}

bool same(const PlanChunk& a, const PlanChunk& b) {
    const JobColumns &x = a.jobs, &y = b.jobs;
    return x.client == y.client && x.k == y.k && x.base == y.base && x.consumed_by == y.consumed_by && x.t_dispatch == y.t_dispatch &&
           x.t_start == y.t_start && x.t_finish == y.t_finish && x.t_arrive == y.t_arrive && x.t_lost == y.t_lost && x.t_stop == y.t_stop &&
           a.updates.time == b.updates.time && a.updates.entries == b.updates.entries && a.live_bases == b.live_bases &&
           a.first_version == b.first_version && a.done == b.done;
}

/// After every chunk the plan goes on in a new scheduler, while the old one goes on as well.
void goes_on() {
    std::size_t index = 0;
    for (const PolicyConfig& policy : policies())
        for (WhenOffline when_offline : {WhenOffline::lost, WhenOffline::paused}) {
            const std::string name = "policy " + std::to_string(index++ / 2);
            SystemModel model = system();
            model.when_offline = when_offline;
            Scheduler whole(model, policy, updates(40));
            std::string state = Scheduler(model, policy, updates(40)).save();
            bool is_same = true;
            for (bool done = false; !done;) {
                Scheduler restored(model, policy, updates(40));
                restored.restore(state);
                const PlanChunk expected = whole.next(3), chunk = restored.next(3);
                is_same = is_same && same(chunk, expected) && restored.ended_by() == whole.ended_by() && restored.end() == whole.end() &&
                          restored.missing() == whole.missing() && restored.totals().messages_peak == whole.totals().messages_peak;
                state = restored.save();
                is_same = is_same && state == whole.save();
                done = chunk.done;
            }
            check(is_same, name + ": save and restore after every chunk");
            check(whole.version() > 3, name + " has updates");
        }
}

void refused() {
    Scheduler scheduler(system(), stream(11, 4), updates(40));
    scheduler.next(5);
    const std::string state = scheduler.save();
    const auto refuses = [&](Scheduler& other, const std::string& bytes, std::string_view part,
                             std::source_location at = std::source_location::current()) {
        const std::string before = other.save();
        check_throws<std::invalid_argument>([&] { other.restore(bytes); }, part, at);
        check(other.save() == before, "and nothing changed", at);
    };
    refuses(scheduler, "", "got 0 bytes");
    refuses(scheduler, std::string(100, 'x'), "no saved scheduler");
    refuses(scheduler, state.substr(0, state.size() - 1), "bytes of state, got");
    refuses(scheduler, state + "x", "bytes of state, got");
    for (std::size_t place = 40; place < state.size(); place += 97) {
        std::string changed = state;
        changed[place] = static_cast<char>(changed[place] ^ 4);
        refuses(scheduler, changed, "changed since it was saved");
    }
    std::string format = state;
    format[8] = 2;
    refuses(scheduler, format, "has format 2, expected 1");

    std::vector<Scheduler> others;
    others.emplace_back(system(6), stream(11, 4), updates(40));
    others.emplace_back(system(), stream(11, 5), updates(40));
    others.emplace_back(system(), stream(11, 4), updates(41));
    others.emplace_back(system(), Rounds{}, updates(40));
    SystemModel changed = system();
    changed.dropout = Dropout({0.2});
    others.emplace_back(changed, stream(11, 4), updates(40));
    changed = system();
    changed.availability = Availability::alternating({20}, {6});
    others.emplace_back(changed, stream(11, 4), updates(40));
    changed = system();
    changed.when_offline = WhenOffline::paused;
    others.emplace_back(changed, stream(11, 4), updates(40));
    changed = system();
    changed.upload = seconds("upload", {0.06});
    others.emplace_back(changed, stream(11, 4), updates(40));
    for (Scheduler& other : others) refuses(other, state, "other arguments");
}

}  // namespace

int main() {
    goes_on();
    refused();
    return report("state");
}
