// Threads that help another one: every part is done once, whoever comes and goes, and training has
// the bits of one thread alone.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fedbench/detail/helpers.hpp"
#include "networks.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::testing::networks;

void parts_cover_a_range() {
    for (std::size_t n : {0, 1, 7, 64, 1000})
        for (std::size_t step : {1, 16, 24})
            for (std::size_t count = 1; count <= 5; ++count) {
                std::size_t last = 0;
                bool follow = true;
                for (std::size_t i = 0; i < count; ++i) {
                    const auto [begin, end] = Part{i, count}.of(n, step);
                    follow = follow && begin == last && end >= begin && (begin % step == 0 || begin == n);
                    last = end;
                }
                check(follow && last == n, "parts of " + std::to_string(n) + " by " + std::to_string(step));
            }
    const auto [begin, end] = Part{1, 2}.of(50, 10);
    check(begin == 20 && end == 50, "parts are nearly equal");
}

/// The leader alone does all parts; so it does, with helpers or without, in every section.
void every_part_is_done_once() {
    Helpers helpers;
    std::atomic<bool> over{false};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!over) helpers.is_open() ? helpers.help() : std::this_thread::yield();
        });
    bool once = true;
    std::size_t sections = 0;
    std::atomic<std::size_t> others{0};
    const std::thread::id leader = std::this_thread::get_id();
    for (int job = 0; job < 40; ++job) {  // helpers leave after each
        helpers.open();
        if (job % 2 == 0)
            while (helpers.parts() < 4) std::this_thread::yield();
        for (std::size_t n = 0; n < 100; ++n, ++sections) {
            const std::size_t parts = 1 + n % 7;  // more parts than threads are fine
            std::size_t done[7] = {};
            helpers.split(parts, [&](Part part) {
                ++done[part.index];
                if (std::this_thread::get_id() != leader) ++others;
                // All helpers are there in this section, so one of them does a part while the
                // leader waits.
                while (job == 0 && n == 6 && others == 0) std::this_thread::yield();
            });
            for (std::size_t i = 0; i < 7; ++i) once = once && done[i] == (i < parts ? 1 : 0);
        }
        helpers.close();
    }
    over = true;
    check(once && sections == 4000, "every part of every section once");
    check(others > 0, "helpers helped");
}

std::vector<Net> large_nets() {
    return {
        {"linear", {linear(401, 700), relu, linear(700, 97)}, {401}},
        {"pooled", {conv(1, 7, 5), pool(2), relu, conv(7, 9, 3, 1, 1), pool(3), flatten, linear(9 * 4 * 4, 5)}, {1, 28, 28, true}},
        {"bare", {conv(2, 11, 3, 2, 1), relu, conv(11, 13, 3), relu, flatten, linear(13 * 12 * 13, 3)}, {2, 28, 30, true}},
        {"symbols", {last(60), embedding(50, 1100), relu, linear(60 * 1100, 5)}, {70}},
        {"one row", {conv(1, 40, 20), pool(3), flatten, linear(40 * 1 * 3, 5)}, {1, 22, 30, true}},
    };
}

template <typename Real>
void helpers_change_nothing(InstructionSet isa) {
    for (const Net& net : large_nets()) {
        const Problem<Real> problem(net);
        std::vector<Real> alone;
        for (std::size_t threads : {1, 2, 3}) {
            const auto worker = make_worker<Real>(problem.network, 9, isa, threads);
            std::vector<std::jthread> others;
            worker->helpers.open();
            for (std::size_t i = 1; i < threads; ++i) others.emplace_back([&] { worker->helpers.help(); });
            while (worker->helpers.parts() < threads) std::this_thread::yield();  // from here on there are so many parts
            std::vector<Real> ends;
            for (bool plain : {true, false}) {
                const std::vector<Real> run = plain ? trained(problem, plain_job<Real>(), *worker) : whole_run(problem, *worker);
                ends.insert(ends.end(), run.begin(), run.end());
            }
            worker->helpers.close();
            if (threads == 1) alone = ends;
            check(std::equal(ends.begin(), ends.end(), alone.begin(), [](Real a, Real b) { return std::memcmp(&a, &b, sizeof a) == 0; }),
                  std::string(net.name) + " by " + std::to_string(threads) + " threads");
            check(ends.front() != problem.model.front(), "and it learns");
        }
    }
}

}  // namespace

int main() {
    parts_cover_a_range();
    every_part_is_done_once();
    helpers_change_nothing<float>(instruction_set());
    helpers_change_nothing<double>(instruction_set());
    return report("helpers");
}
