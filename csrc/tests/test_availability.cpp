// Availability windows: what they are, and the questions about them, against a walk over every
// quarter of a second.
#include <cmath>
#include <string>
#include <vector>

#include "fedbench/availability.hpp"
#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

Availability windows(const std::vector<std::vector<double>>& rows, double period = 0) { return Availability::table(table(rows), period); }

/// On in [1, 2) and [4, 6) seconds.
void table_by_hand() {
    const Availability availability = windows({{1, 2, 4, 6}});
    const Presence presence(availability, 0, 1);
    const auto s = [](double seconds) { return static_cast<std::int64_t>(seconds * kSecond); };
    check(presence.next_on(0, 0) == s(1) && presence.next_on(0, s(1)) == s(1) && presence.next_on(0, s(2)) == s(4), "next on");
    check(presence.next_on(0, s(6)) == kForever && availability.last_leave(0) == s(6), "gone for good");
    check(presence.leaves(0, s(1.5)) == s(2) && presence.leaves(0, s(2)) == s(2) && presence.leaves(0, s(0.5)) == s(0.5), "leaves");
    check(presence.finish(0, s(1.5), s(0.5)) == s(2), "what ends when the client leaves has ended in time");
    check(presence.finish(0, s(1.5), s(0.75)) == s(4.25) && presence.finish(0, 0, s(3)) == s(6), "over a pause");
    check(presence.finish(0, 0, s(3) + 1) == kForever && presence.finish(0, s(7), 1) == kForever, "never");
    check(presence.finish(0, s(3), 0) == s(3), "nothing is done at once");
    check(presence.online(0, presence.at(0, 0), 0, s(5)) == s(2) && presence.online(0, presence.at(0, s(1.5)), s(1.5), s(9)) == s(2.5),
          "online");
}

/// Period 10 s: on in [0, 2) and [8, 10), which is one stay of 4 s from 8 to 12, 18 to 22, .. A row
/// without a gap never ends.
void windows_join_round_the_end() {
    const Availability availability = windows({{0, 2, 8, 10}, {0, 4, 4, 10}}, 10);
    const Presence presence(availability, 0, 2);
    check(presence.at(0, 0).from == -2 * kSecond && presence.leaves(0, 0) == 2 * kSecond, "on since before time 0");
    check(presence.leaves(0, 9 * kSecond) == 12 * kSecond && presence.next_on(0, 1235 * kSecond) == 1238 * kSecond, "round the end");
    check(presence.leaves(1, 5 * kSecond) == kForever && presence.finish(1, 0, 100 * kSecond) == 100 * kSecond, "no gap");
}

/// Every kind against a list of its own windows: is_on and finish by walking.
void questions_agree_with_a_walk() {
    std::vector<double> phases;
    for (int i = 0; i < 12; ++i) phases.push_back(i / 12.0);
    const std::vector<Availability> all = {
        {},
        Availability::periodic({3}, {0.5}, phases),
        Availability::periodic({2.25}, {1.0}, {}),
        Availability::periodic({1.75}, {0.25}, {}),
        Availability::alternating({1.5}, {0.75}),
        Availability::alternating({0.5}, {0}),
        windows(std::vector<std::vector<double>>(12, {0.5, 1, 3, 4.25, 20, 21})),
        windows(std::vector<std::vector<double>>(12, {0, 0.5, 2, 2.75, 4, 5}), 5),
        windows(std::vector<std::vector<double>>(12, {0, 2, 2, 5}), 5),
    };
    for (std::size_t a = 0; a < all.size(); ++a) {
        const std::string name = "availability " + std::to_string(a);
        bool same = true;
        for (std::uint32_t client = 0; client < 12; ++client) {
            Presence presence(all[a], 7, 12);
            std::vector<char> on;  // by quarter of a second: is the client there at its beginning
            const Presence fresh(all[a], 7, 12);
            for (std::int64_t q = 0; q < 200; ++q) on.push_back(fresh.next_on(client, q * kQuarter) == q * kQuarter);
            for (std::int64_t q = 0; q < 150; ++q) {
                const std::int64_t now = q * kQuarter;
                const std::int64_t later = presence.finish(client, now, 5 * kQuarter);  // looks ahead, and disturbs nothing
                same = same && presence.is_on(client, now) == (on[static_cast<std::size_t>(q)] != 0);
                if (later == kForever || later > 190 * kQuarter) continue;
                const Window window = presence.at(client, now);
                same = same && presence.online(client, window, now, later) == 5 * kQuarter;
                same = same && presence.online(client, window, now, later - 1) == 5 * kQuarter - 1;
            }
        }
        check(same, name + ": cursors, look-ahead and time online agree");
    }
}

/// The drawn kinds have the shares that they promise: on at time 0 and later with probability
/// mean_on / (mean_on + mean_off).
void shares() {
    constexpr std::uint32_t clients = 20000;
    const auto share = [](const Availability& availability, std::int64_t time) {
        Presence presence(availability, 3, clients);
        int on = 0;
        for (std::uint32_t client = 0; client < clients; ++client) on += presence.is_on(client, time);
        return static_cast<double>(on) / clients;
    };
    for (std::int64_t time : {std::int64_t{0}, 5 * kSecond, 1234 * kSecond}) {
        check(std::abs(share(Availability::alternating({3}, {1}), time) - 0.75) < 0.015, "alternating: stationary");
        check(std::abs(share(Availability::periodic({7}, {0.3}, {}), time) - 0.3) < 0.015, "periodic: phases drawn uniformly");
    }
}

/// A year of one-second windows is jumped over, not walked through.
void long_jumps() {
    const Availability availability = Availability::periodic({1e-3}, {0.5}, {0});
    const Presence presence(availability, 0, 1);
    constexpr std::int64_t year = 31'536'000 * kSecond;
    check(presence.finish(0, 0, year) == 2 * year - kSecond / 2000, "half of every millisecond");
    check(presence.online(0, presence.at(0, 0), 0, 2 * year) == year, "and back");
    const Availability rare = Availability::periodic({1e9}, {1e-17}, {0});
    check(Presence(rare, 0, 1).finish(0, 0, kSecond) == kForever, "beyond the end of time");
}

void refused() {
    const auto refuses = [](auto make, std::string_view part, std::source_location at = std::source_location::current()) {
        check_throws<std::invalid_argument>(make, part, at);
    };
    refuses([] { Availability::periodic({}, {1}, {}); }, "needs period_seconds and on_fraction");
    refuses([] { Availability::periodic({0}, {1}, {}); }, "period_seconds must be in (0, 1e9], got 0 (client 0)");
    refuses([] { Availability::periodic({5}, {0.5, 0}, {}); }, "on_fraction must be in (0, 1], got 0 (client 1)");
    refuses([] { Availability::periodic({1e-9}, {0.1}, {}); }, "a window of no length");
    refuses([] { Availability::periodic({5}, {0.5}, {1}); }, "phase must be in [0, 1), got 1");
    refuses([] { Availability::periodic({5, 5}, {0.5, 0.5, 0.5}, {}); }, "expected 1 or 3 values");
    refuses([] { Availability::periodic({5, 5}, {0.5}, {}).check_clients(3); }, "expected 1 or 3 values");
    refuses([] { Availability::alternating({1}, {}); }, "needs mean_on_seconds and mean_off_seconds");
    refuses([] { Availability::alternating({0}, {1}); }, "mean_on_seconds must be between 0.001 and 1e9, got 0");
    refuses([] { Availability::alternating({1}, {-1}); }, "mean_off_seconds must be between 0 and 1e9, got -1");
    refuses([] { windows({{0, 1}, {}}); }, "client 1: there are none, so it would never be there");
    refuses([] { windows({{0, 1, 2}}); }, "expected pairs");
    refuses([] { windows({{0, 1, 2, 2}}); }, "must be ascending, of positive length, apart, got [2, 2)");
    refuses([] { windows({{2, 3, 0, 1}}); }, "must be ascending");
    refuses([] { windows({{0, 2, 1, 3}}); }, "must be ascending");
    refuses([] { windows({{0, 6}}, 5); }, "inside one period");
    refuses([] { windows({{-1, 6}}); }, "between 0 and 1e9 seconds, got -1");
    refuses([] { windows({{0, 1}}).check_clients(2); }, "expected 2 rows, one per client, got 1");
}

}  // namespace

int main() {
    table_by_hand();
    windows_join_round_the_end();
    questions_agree_with_a_walk();
    shares();
    long_jumps();
    refused();
    return report("availability");
}
