// The hold model against a sorted list, and the reader against a plain loop.
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "../bindings/probe.hpp"
#include "check.hpp"
#include "fedbench/philox.hpp"

using namespace fedbench;
using fedbench::testing::check;

namespace {

std::vector<std::int64_t> draw(RandomStream& random, std::size_t count, std::uint32_t below) {
    std::vector<std::int64_t> values(count);
    for (auto& value : values) value = random.below(below);
    return values;
}

/// Narrow increments make ties, which go to the lowest client.
void hold() {
    RandomStream random(1, Purpose::compute);
    for (const std::uint32_t range : {4u, 1u << 30}) {
        const auto times = draw(random, 37, range), increments = draw(random, 5000, range);
        std::set<std::pair<std::int64_t, std::uint64_t>> pending;
        for (std::size_t i = 0; i < times.size(); ++i) pending.emplace(times[i], i);
        std::int64_t last = 0;
        std::uint64_t checksum = 0xcbf29ce484222325;
        for (const std::int64_t increment : increments) {
            const auto [time, client] = *pending.begin();
            pending.erase(pending.begin());
            pending.emplace(time + increment, client);
            last = time;
            checksum = (checksum ^ client) * 0x100000001b3;
        }
        Hold model(times);
        const Hold::Result got = model.run(increments);
        check(got.time == last, "time of the last event");
        check(got.checksum == checksum, "order of the clients");
    }
}

void hold_goes_on() {
    RandomStream random(2, Purpose::compute);
    const auto times = draw(random, 10, 1000), increments = draw(random, 200, 1000);
    Hold whole(times), parts(times);
    whole.run(increments);
    const std::span<const std::int64_t> all(increments);
    parts.run(all.first(77));
    parts.run(all.subspan(77));
    const auto next = draw(random, 50, 1000);
    const auto a = whole.run(next), b = parts.run(next);
    check(a.time == b.time && a.checksum == b.checksum, "runs continue where the last one ended");
    check(whole.run({}).time == 0, "no increments, no event");
}

void reads_everything() {
    for (const std::size_t d : {0u, 1u, 511u, 512u, 1300u}) {
        std::vector<std::vector<float>> rows(3, std::vector<float>(d));
        std::vector<const float*> pointers;
        std::uint32_t want = 0;
        float value = 1;
        for (auto& row : rows) {
            for (float& x : row) want ^= std::bit_cast<std::uint32_t>(x = value *= 1.01f);
            pointers.push_back(row.data());
        }
        check(read_rows(pointers, d) == want, "every bit is read once");
    }
}

}  // namespace

int main() {
    hold();
    hold_goes_on();
    reads_everything();
    return fedbench::testing::report("probe");
}
