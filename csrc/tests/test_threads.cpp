// Threads that plan and compute at the same time: nothing is shared, so each gets the bits of a
// thread alone. For the thread sanitizer.
#include <cstring>
#include <thread>
#include <vector>

#include "fedbench/accumulate.hpp"
#include "fedbench/distill.hpp"
#include "fedbench/optimise.hpp"
#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;

constexpr std::size_t kThreads = 4;
constexpr std::size_t kLength = 1027;

/// What one thread makes; compared as bytes.
struct Work {
    std::vector<std::int64_t> plan;
    std::vector<float> x;
    std::vector<double> scalars;

    bool operator==(const Work& other) const {
        return plan == other.plan && x.size() == other.x.size() && std::memcmp(x.data(), other.x.data(), x.size() * sizeof(float)) == 0 &&
               scalars == other.scalars;
    }
};

void play(Work& work, const PolicyConfig& policy, std::uint64_t seed) {
    Scheduler scheduler(random_system(20, seed), policy, updates(20));
    for (bool done = false; !done;) {
        const PlanChunk chunk = scheduler.next(7);
        work.plan.insert(work.plan.end(), chunk.jobs.t_arrive.begin(), chunk.jobs.t_arrive.end());
        work.plan.insert(work.plan.end(), chunk.updates.time.begin(), chunk.updates.time.end());
        work.plan.insert(work.plan.end(), chunk.updates.entries.begin(), chunk.updates.entries.end());
        done = chunk.done;
    }
}

void compute(Work& work, const std::vector<std::vector<float>>& rows, InstructionSet isa) {
    const std::vector<const float*> vectors{rows[0].data(), rows[1].data(), rows[2].data()};
    const std::vector<double> weights{0.25, -0.5, 1.5};
    std::vector<float> sum(kLength), m(kLength), v(kLength), vhat(kLength);
    work.x = rows[3];
    work.scalars.push_back(weighted_sum<float>(weights, vectors, sum, isa));
    work.scalars.push_back(dot<float>(rows[0], rows[1], isa));
    work.scalars.push_back(clip_sgd<float>(work.x, sum, 0.1, 1, isa).norm);
    const AdamRule rule{0.01, 0.9, 0.99, 1e-8};
    adaptive_step<float>(work.x, {m, v, vhat}, sum, rule, true, isa);
    sum_adaptive_step<float>(work.x, {m, v, vhat}, weights, vectors, rule, true, isa);
    constexpr std::size_t kRows = 9, kClasses = 40;
    const std::span<const float> student(rows[0].data(), kRows * kClasses), teacher(rows[1].data(), kRows * kClasses);
    std::vector<float> grad(kRows * kClasses), logits(distill_workspace(kRows, kClasses));
    std::vector<TeacherRow> teacher_rows(kRows);
    const DistillRule distillation{kClasses, {0.2, 0.8}};
    const auto distilled = distill<float>(student, teacher, distillation, {grad, {}, {}, {}, {}, {}}, {teacher_rows, logits}, isa);
    work.scalars.push_back(distilled.loss);
    work.x.insert(work.x.end(), grad.begin(), grad.end());
}

/// Thread i has its own seed and its own order of policies; the vectors are read by all of them.
Work work_of(std::size_t i, const std::vector<std::vector<float>>& rows) {
    Work work;
    const PolicyConfig policies[] = {stream(8, 3), Rounds{Select::without_replacement, 5, {}, {}}, Rounds{Select::all, 0, {}, {}}};
    for (std::size_t n = 0; n < std::size(policies); ++n) {
        play(work, policies[(i + n) % std::size(policies)], i);
        compute(work, rows, n % 2 == 0 ? instruction_set() : InstructionSet::portable);
    }
    return work;
}

}  // namespace

int main() {
    RandomStream random(11, Purpose::parameters);
    std::vector<std::vector<float>> rows(4, std::vector<float>(kLength));
    for (auto& row : rows)
        for (float& value : row) value = static_cast<float>(random.normal());
    std::vector<Work> together(kThreads);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { together[i] = work_of(i, rows); });
    }
    for (std::size_t i = 0; i < kThreads; ++i) {
        check(together[i] == work_of(i, rows), "a thread among others gives what it gives alone");
        check(!together[i].plan.empty() && !(together[i] == together[(i + 1) % kThreads]), "threads do different things");
    }
    return report("threads");
}
