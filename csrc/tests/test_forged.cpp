// Forged states with a right checksum: a scheduler refuses them and stays as it was, or goes on from them without harm. What harms, an
// address or a sum beyond its bounds, the sanitizers see.
#include <cstring>
#include <string>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

constexpr std::size_t kHeader = 40;

/// The bytes with a checksum and a size that fit them.
std::string sealed(std::string bytes) {
    Fingerprint sum;
    sum.raw(bytes.data() + kHeader, bytes.size() - kHeader);
    const std::uint64_t size = bytes.size() - kHeader, checksum = sum.value();
    std::memcpy(bytes.data() + 24, &size, 8);
    std::memcpy(bytes.data() + 32, &checksum, 8);
    return bytes;
}

template <typename Word>
std::string with(std::string bytes, std::size_t place, Word word) {
    std::memcpy(bytes.data() + place, &word, sizeof(Word));
    return sealed(std::move(bytes));
}

struct World {
    const char* name;
    SystemModel system;
    PolicyConfig policy;
};

SystemModel small_system(WhenOffline when_offline, Availability availability) {
    SystemModel model = random_system(6, 3);
    model.download = seconds("download", {0.3});
    model.compute = Durations("compute", DurationKind::exponential, {1}, {}, true, {});
    model.steps = Steps::constant({2});
    model.availability = std::move(availability);
    model.when_offline = when_offline;
    model.dropout = Dropout({0.1});
    return model;
}

std::vector<World> worlds() {
    const SystemModel lost = small_system(WhenOffline::lost, Availability::alternating({20}, {5}));
    const SystemModel paused = small_system(WhenOffline::paused, Availability::periodic({9}, {0.6}, {}));
    const std::vector<double> stays{0, 4, 5, 9};
    const SystemModel scripted = small_system(WhenOffline::paused, Availability::table(table<double>({6, stays}), 10));
    StreamPolicy given = stream(2, 2);
    given.initial = {0, 1}, given.scripted = true;
    for (std::int32_t i = 0; i < 400; ++i) given.replacements.push_back((i + 2) % 6);
    return {{"rounds", lost, Rounds{Select::without_replacement, 3, {}, {}, 3 * kSecond, 1}},
            {"rounds with replacement", paused, Rounds{Select::with_replacement, 7, {}, {}}},
            {"rounds of external selection", lost, Rounds{Select::external, 0, {}, {}}},
            {"stream", lost, stream(4, 3)},
            {"stream that restarts", paused, StreamPolicy{4, 3, Restart::self, DispatchOrder::before_update, {}, {}, false}},
            {"scripted stream", fixed_system(std::vector<double>(6, 1)), given},
            {"broadcast", scripted, Broadcast{3, Receive::peek}},
            {"mailbox", lost, Mailbox{3, Send::continuous, Receive::pop, {}}},
            {"mailbox on demand", scripted, Mailbox{3, Send::on_demand, Receive::peek, {}}},
            {"poll", lost, Poll{3 * kSecond, 4, 3, {}}},
            {"poll that pauses", scripted, Poll{3 * kSecond, 4, 3, {}}},
            {"stream that stops", lost, fresh_stream(6, 2, 1, true)},
            {"stream that balances", paused, harmonic_stream(6, 7.5, true)},
            {"routed tasks", fixed_system(std::vector<double>(6, 1)), routed(6, 9, 2)},
            {"turns", lost, Turns{Resend::turn}},
            {"turns that resend", paused, Turns{Resend::newest}}};
}

void go_on(Scheduler& scheduler, int chunks) {
    for (int chunk = 0; chunk < chunks && !scheduler.finished(); ++chunk) {
        if (scheduler.is_asking()) scheduler.select({0, 3, 3});
        scheduler.next(2);
    }
    scheduler.missing();
}

struct Counts {
    int refused = 0, taken = 0;
};

/// Both are right; only harm would be wrong.
void forge(Scheduler& scheduler, const std::string& state, const std::string& forged, Counts& counts) {
    try {
        scheduler.restore(forged);
    } catch (const std::invalid_argument&) {
        ++counts.refused;
        if (counts.refused % 64 == 1) check(scheduler.save() == state, "a refused state changes nothing");
        return;
    }
    ++counts.taken;
    try {
        go_on(scheduler, 6);
    } catch (const std::exception&) {  // such as a script that is over
    }
    scheduler.restore(state);
}

void forged_states_do_no_harm() {
    for (const World& world : worlds()) {
        const Budget budget{30, 1'000'000 * kSecond, 300};  // who waits for a job that was forged away would wait for long
        Scheduler scheduler(world.system, world.policy, budget);
        go_on(scheduler, 5);
        const std::string state = scheduler.save();
        check(state.size() > 200 && sealed(state) == state, std::string(world.name) + ": a state");
        Counts counts;
        for (std::size_t place = kHeader; place + 4 <= state.size(); place += 4) {
            for (std::uint32_t word : {0u, 1u, 7u, 0x3fffffffu, 0x7fffffffu, 0x80000000u, 0xffffffffu})
                forge(scheduler, state, with(state, place, word), counts);
            if (place + 8 > state.size()) continue;
            for (std::uint64_t word : {0ull, 3ull, 1ull << 40, ~0ull >> 1, 1ull << 63, ~0ull - 7})
                forge(scheduler, state, with(state, place, word), counts);
        }
        for (std::size_t place = kHeader; place < state.size(); ++place) forge(scheduler, state, with(state, place, '\2'), counts);
        for (std::size_t size = kHeader; size < state.size(); size += 3) forge(scheduler, state, sealed(state.substr(0, size)), counts);
        forge(scheduler, state, sealed(state + std::string(8, '\0')), counts);
        check(counts.refused > 500 && counts.taken > 0, std::string(world.name) + ": some are refused, some do no harm");
    }
}

}  // namespace

int main() {
    forged_states_do_no_harm();
    return report("forged");
}
