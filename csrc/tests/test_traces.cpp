// Measured links: transfers by hand, against a walk over every nanosecond, and what the scheduler
// makes of them.
#include <algorithm>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

struct Part {
    std::int64_t duration, rate, latency = 0;
};
using Parts = std::vector<Part>;
constexpr std::int64_t kBitPerNs = kNanosecondsPerSecond;  ///< a rate

Traces links(const std::vector<Parts>& traces, std::vector<std::int32_t> trace_of, std::vector<std::int64_t> shift, Message message) {
    TraceParts all;
    all.offsets.push_back(0);
    for (const Parts& trace : traces) {
        for (const Part& part : trace) {
            all.duration_ns.push_back(part.duration);
            all.bits_per_second.push_back(part.rate);
            all.latency_ns.push_back(part.latency);
        }
        all.offsets.push_back(static_cast<std::int64_t>(all.duration_ns.size()));
    }
    return Traces("upload", all, std::move(trace_of), std::move(shift), message);
}

Traces link(const Parts& trace, std::int64_t bits, std::int64_t shift = 0) { return links({trace}, {0}, {shift}, {bits}); }

/// 2 bits a nanosecond for 4 ns, none for 3 ns, a third of a bit for 3 ns: 9 bits in 10 ns.
const Parts kThree = {{4, 2 * kBitPerNs, 7}, {3, 0, 5}, {3, (kBitPerNs + 2) / 3, 1}};

void transfers_by_hand() {
    check(link(kThree, 8).takes(0, 0) == 7 + 4, "all of the first part");
    check(link(kThree, 7).takes(0, 0) == 7 + 4, "the last bit comes with the nanosecond in which it is sent");
    check(link(kThree, 6).takes(0, 1) == 7 + 3 && link(kThree, 6).takes(0, 101) == 7 + 3, "from within, in the first and any period");
    check(link(kThree, 9).takes(0, 0) == 7 + 10, "over the gap to the end of the period");
    check(link(kThree, 1).takes(0, 4) == 5 + 6 && link(kThree, 1).takes(0, 6) == 5 + 4, "a start in the gap waits, and pays its latency");
    check(link(kThree, 2).takes(0, 8) == 1 + 3, "over the end of the period");
    check(link(kThree, 6, 1).takes(0, 0) == 7 + 3 && link(kThree, 8, 9).takes(0, 1) == 7 + 4, "a shift is a later start");
    check(link(kThree, 0).takes(0, 5) == 5, "nothing to send: the latency");
    check(links({kThree}, {0}, {0}, {6, 3, 100}).takes(0, 1) == 3 * 7 + 3 + 100, "three exchanges, and 100 ns more");
    check(links({kThree}, {0}, {0}, {6, 0, 0}).takes(0, 1) == 3, "no exchange, no latency");
    const Traces two = links({kThree, {{5, kBitPerNs}}}, {1, 0}, {0, 4}, {3});
    check(two.takes(0, 2) == 3 && two.takes(1, 0) == 5 + 3 + 3 + 1, "every client has its trace and its shift");
}

/// Sums of 1e-9 bits, nanosecond by nanosecond.
std::int64_t walked(const Parts& trace, std::int64_t shift, std::int64_t from, std::int64_t bits) {
    std::vector<const Part*> at;
    for (const Part& part : trace) at.insert(at.end(), static_cast<std::size_t>(part.duration), &part);
    const auto period = static_cast<std::int64_t>(at.size());
    const auto now = [&](std::int64_t time) { return at[static_cast<std::size_t>((time + shift) % period)]; };
    Wide left = static_cast<Wide>(bits) * kNanosecondsPerSecond;
    std::int64_t time = from;
    for (; left > 0; ++time) left -= now(time)->rate;
    return time - from + now(from)->latency;
}

void transfers_agree_with_a_walk() {
    RandomStream random(5, Purpose::speed);
    bool same = true;
    for (int round = 0; round < 2000; ++round) {
        Parts trace;
        for (std::uint32_t i = 0, count = 1 + random.below(5); i < count; ++i) {
            const std::int64_t rate = random.below(3) == 0 ? 0 : random.below(2'000'000'000);
            trace.push_back({1 + random.below(6), random.below(4) == 0 ? rate / kBitPerNs * kBitPerNs : rate, random.below(9)});
        }
        std::int64_t period = 0;
        for (const Part& part : trace) period += part.duration;
        trace.push_back({1, 1 + static_cast<std::int64_t>(random.below(1'000'000'000)), 0});
        const std::int64_t shift = random.below(static_cast<std::uint32_t>(period) + 1), from = random.below(40), bits = random.below(60);
        if (trace.back().rate < 10'000'000) continue;  // the walk would be long
        same = same && link(trace, bits, shift).takes(0, from) == walked(trace, shift, from, bits);
    }
    check(same, "exact, from any place of any trace");
}

/// Whole periods are skipped: 9e17 bits at 9 bits in 10 ns, and a bit a year.
void long_transfers() {
    const Parts ten = {{4, 2 * kBitPerNs}, {5, 0}, {1, kBitPerNs}};
    constexpr std::int64_t many = 899'999'999'999'999'991;
    check(link(ten, many).takes(0, 0) == many / 9 * 10, "1e17 periods");
    check(link(ten, many + 1).takes(0, 0) == many / 9 * 10 + 1, "and one bit");
    check(link(ten, many).takes(0, 2) == many / 9 * 10, "a whole number of periods, from anywhere");
    constexpr std::int64_t year = 31'536'000 * kSecond;
    const Parts rare = {{year, 0}, {1, kBitPerNs}};
    check(link(rare, 30).takes(0, 0) == 30 * (year + 1), "a bit a year");
    check_throws<std::invalid_argument>([&] { link(rare, 32).takes(0, 0); }, "upload: 32 bits of client 0, from second 0 on");
    check_throws<std::invalid_argument>([&] { link(rare, kMostBits).takes(0, 0); }, "take more than 1e9 seconds");
    check(link({{1, kFastestBitsPerSecond}}, kMostBits).takes(0, 0) == kMostBits / 1'000'000 + 1, "the largest numbers");
}

void refused() {
    const auto refuses = [](auto make, std::string_view part, std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>(make, part, at);
    };
    refuses([] { links({}, {0}, {0}, {}); }, "expected at least one trace");
    refuses([] { links({kThree, {}}, {0}, {0}, {}); }, "trace 1: expected at least one part");
    refuses([] { link({{0, 1}}, 1); }, "trace 0, part 0: the duration in nanoseconds must be between 1 and");
    refuses([] { link({{5, 1}, {-5, 1}}, 1); }, "part 1: the duration in nanoseconds must be between 1 and 1000000000000000000, got -5");
    refuses([] { link({{5, -1}}, 1); }, "part 0: bits per second must be between 0 and 1000000000000000, got -1");
    refuses([] { link({{5, 1, -1}}, 1); }, "part 0: the latency in nanoseconds must be between 0");
    refuses([] { link({{5, 0}, {7, 0}}, 1); }, "trace 0: the throughput is 0 for ever");
    refuses([] { link({{1'000'000'000'000'000'000, 1}, {1, 1}}, 1); }, "trace 0: the whole trace must be at most 1e9 seconds long");
    refuses([] { link(kThree, -1); }, "bits of a message must be between 0");
    refuses([] { link(kThree, 1, 10); }, "the shift of client 0 in nanoseconds must be between 0 and 9, got 10");
    refuses([] { links({kThree}, {1}, {0}, {}); }, "the trace of client 0 must be between 0 and 0, got 1");
    refuses([] { links({kThree}, {0, 0}, {0}, {}); }, "got 2 traces and 1 shifts");
    refuses([] { links({kThree}, {0, 0}, {0, 0}, {}).check_clients(3); }, "expected 1 or 3 values");
    TraceParts parts{{0, 2}, {1, 1}, {1}, {0, 0}};
    refuses([&] { Traces("upload", parts, {0}, {0}, {}); }, "a duration, a throughput and a latency for every part");
    parts = {{0, 5, 2}, {1, 1}, {1, 1}, {0, 0}};
    refuses([&] { Traces("upload", parts, {0}, {0}, {}); }, "trace 0: expected at least one part");
}

/// Up at 1 bit a second in [0, 1) s of every 4 s; a client computes for 1 s, so the upload of 1 bit
/// starts later and later.
SystemModel traced_system() {
    SystemModel system = fixed_system({1, 1});
    system.upload = links({{{kSecond, 1}, {3 * kSecond, 0}}}, {0, 0}, {0, 2 * kSecond}, {1});
    return system;
}

void plans() {
    SystemModel system = traced_system();
    system.download = links({{{kSecond, 2}, {kSecond, 1}}}, {0}, {0}, {1});  // half a second, or a whole one
    const Plan plan(system, stream(2, 1), updates(4));
    // Client 0: downloaded at 0.5, done at 1.5, its link is up from 4 to 5; client 1, shifted by 2:
    // from 2 to 3.
    check(plan.jobs.t_start[0] == kSecond / 2 && plan.jobs.t_finish[0] == 6 * kQuarter && plan.jobs.t_arrive[0] == 3 * kSecond,
          "client 1 arrives first");
    check(plan.updates.time[0] == 3 * kSecond && plan.updates.time[1] == 5 * kSecond, "updates");
    check(plan.jobs.t_dispatch[2] == 3 * kSecond && plan.jobs.t_start[2] == 4 * kSecond, "a download that starts in the slow part");
    const Plan cut(system, stream(2, 1), updates(4), 1);
    check(same_plan(plan, cut), "however it is cut");
    const Plan rounds(traced_system(), Rounds{}, updates(2));
    check(rounds.updates.time[0] == 5 * kSecond && rounds.updates.time[1] == 9 * kSecond, "rounds");
    const Plan polled(
        [] {
            SystemModel steps = traced_system();
            steps.compute = Durations("compute", DurationKind::constant, {0.25}, {}, true, {});
            steps.download = links({{{kSecond, 1}}}, {0}, {0}, {1});
            return steps;
        }(),
        Poll{2 * kSecond, 4, 2, {}}, updates(1));
    check(polled.jobs.t_start[0] == kSecond && polled.updates.time[0] == 5 * kSecond, "polled at 2 s, up at 3 s and 5 s");
}

void what_does_not_go_together() {
    SystemModel system = traced_system();
    system.availability = Availability::periodic({10}, {0.5}, {0});
    check(Plan(system, Rounds{}, updates(1)).jobs.size() >= 2, "lost");
    system.when_offline = WhenOffline::paused;
    check_throws<std::invalid_argument>([&] { Scheduler(system, Rounds{}, updates(1)); }, "when_offline must be lost with measured links");
    system = traced_system();
    system.download = links({kThree}, {0}, {0}, {1});
    check_throws<std::invalid_argument>(
        [&] {
            Plan(system, Broadcast{1, Receive::pop}, updates(1));
        },
        "broadcast: the latency of a link must be the same in all parts of its trace");
    check_throws<std::invalid_argument>(
        [&] {
            Plan(system, Mailbox{1, Send::continuous, Receive::pop, {}}, updates(1));
        },
        "mailbox: the latency of a link must be the same");
    system.upload = links({kThree}, {0, 0, 0}, {0, 0, 0}, {});
    check_throws<std::invalid_argument>([&] { Scheduler(system, Rounds{}, updates(1)); }, "upload: expected 1 or 2 values");
}

/// Client 0 has a link of 1 bit a second in the first of every 4 seconds, client 1 one of 1 bit a
/// second; both compute for half a second.
SystemModel broadcast_system() {
    SystemModel system = fixed_system({0.5, 0.5});
    system.download = links({{{kSecond, 1}, {3 * kSecond, 0}}, {{5 * kSecond, 1}}}, {0, 1}, {0, 0}, {1});
    return system;
}

/// A client starts from the newest version that has come over its link.
void broadcasts() {
    const Plan plan(broadcast_system(), Broadcast{1, Receive::peek}, updates(12));
    // Both have version 0 at 1 s, and work in half seconds from then on. Versions 1 and 2 are sent
    // at 1.5 s, 3 and 4 at 2 s, ..
    check_update(plan, 0, 6, {{0, 0, 0}});
    check_update(plan, 1, 6, {{1, 0, 1}});
    check_update(plan, 2, 8, {{0, 1, 2}});
    check_update(plan, 3, 8, {{1, 1, 3}});
    check_update(plan, 4, 10, {{0, 2, 4}});
    check_update(plan, 5, 10, {{1, 2, 5}});  // started at 2 s
    check_update(plan, 6, 12, {{0, 3, 6}});
    check_update(plan, 7, 12, {{1, 3, 5}});  // at 2.5 s client 1 had version 2, client 0 has version 0 until 5 s
    const Plan popped(broadcast_system(), Broadcast{1, Receive::pop}, updates(4));
    check_update(popped, 2, 12, {{1, 1, 0}});  // version 2 came at 2.5 s
    const Plan boxes(broadcast_system(), Mailbox{1, Send::continuous, Receive::pop, {}}, updates(3));
    check(boxes.updates.time.size() == 3, "mailboxes");
    for (const Receive receive : {Receive::pop, Receive::peek}) {
        SystemModel constant = random_system(5, 3), traced = constant;
        constant.download = seconds("download", {0.5});
        traced.download = links({{{kSecond, 4}, {3 * kSecond, 4}}, {{7, 4}}}, {0, 1, 0, 1, 1}, {0, 3, 5, 6, 1}, {2});
        check(same_plan(Plan(constant, Broadcast{2, receive}, updates(60)), Plan(traced, Broadcast{2, receive}, updates(60), 7)),
              "links that happen to be constant, broadcast");
        const Mailbox mailbox{2, Send::on_demand, receive, {}};
        check(same_plan(Plan(constant, mailbox, updates(60)), Plan(traced, mailbox, updates(60), 7)),
              "links that happen to be constant, mailbox");
    }
}

/// No job starts from a version that some chunk before it did not name as needed, also none of a
/// client whose link alone is slow.
void versions_that_are_needed() {
    SystemModel system = broadcast_system();
    system.download = links({{{kSecond, 1}, {3 * kSecond, 0}}, {{5 * kSecond, 1}}}, {1, 0}, {0, 0}, {1});
    Scheduler scheduler(system, Broadcast{1, Receive::peek}, updates(30));
    std::vector<char> is_gone;  // by version
    bool kept = true;
    for (bool done = false; !done;) {
        const PlanChunk chunk = scheduler.next(1);
        is_gone.resize(static_cast<std::size_t>(scheduler.version()) + 1, 0);
        for (const std::int32_t base : chunk.jobs.base) kept = kept && !is_gone[static_cast<std::size_t>(base)];
        for (std::size_t v = 0; v < is_gone.size(); ++v)
            if (!std::binary_search(chunk.live_bases.begin(), chunk.live_bases.end(), static_cast<std::int32_t>(v))) is_gone[v] = 1;
        done = chunk.done;
    }
    check(kept, "a job starts from a version that was still needed");
}

}  // namespace

int main() {
    transfers_by_hand();
    transfers_agree_with_a_walk();
    long_transfers();
    refused();
    plans();
    what_does_not_go_together();
    broadcasts();
    versions_that_are_needed();
    return report("traces");
}
