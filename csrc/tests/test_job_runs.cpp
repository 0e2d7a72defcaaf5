// Jobs that a thread takes together: each has the bits that it has alone.
#include <cstring>
#include <vector>

#include "check.hpp"
#include "fedbench/train.hpp"
#include "networks.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::testing::networks;
using namespace fedbench::train;

/// Some jobs in an order that mixes what they share and what they send: most make one plain step
/// from one of two models; others make none or more, or have a rule with another term.
template <typename Real>
struct Mixed {
    static constexpr std::size_t kJobs = 16;

    const Problem<Real>& problem;
    std::vector<Real> other = draws<Real>(problem.model.size(), 7, 0.2);
    std::vector<std::vector<Real>> deltas{kJobs, std::vector<Real>(problem.model.size())}, ends = deltas;
    std::vector<Job<Real>> jobs{kJobs};

    /// With `ends`, jobs also write where they end, so none is the progress of one step alone.
    Mixed(const Problem<Real>& of, bool with_ends) : problem(of) {
        for (std::size_t i = 0; i < kJobs; ++i) {
            Job<Real>& job = jobs[i];
            job.client = static_cast<std::uint32_t>(i), job.k = static_cast<std::uint32_t>(i % 3);
            job.steps = i % 7 == 6 ? 3 : i % 11 == 4 ? 0 : 1;
            job.shard = std::span(problem.shard).subspan(i % 9, 1 + i % 12);  // full and short batches
            job.rule.lr = i % 8 == 5 ? Real{0} : Real{0.05f};
            job.rule.start = (i % 5 == 3 ? other : problem.model).data();
            if (i % 6 == 2) job.rule.prox = Real{0.5f};
            job.delta = deltas[i].data();
            if (with_ends) job.end = ends[i].data();
        }
    }
};

template <typename Real>
bool same(const std::vector<std::vector<Real>>& a, const std::vector<std::vector<Real>>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(Real)) != 0) return false;
    return true;
}

template <typename Real>
void a_run_has_the_bits_of_its_jobs(const Net& net, InstructionSet isa, bool shuffled) {
    const Problem<Real> problem(net);
    const std::atomic<bool> never{false};
    Mixed<Real> alone(problem, true), together(problem, false);
    const auto worker = make_worker<Real>(problem.network, 5, isa);
    for (const Job<Real>& job : alone.jobs) worker->train({&job, 1}, problem.examples(), 5, 5, shuffled, never);
    for (int time = 0; time < 2; ++time) {
        worker->train(together.jobs, problem.examples(), 5, 5, shuffled, never);
        check(same(alone.deltas, together.deltas), std::string(net.name) + ": together on " + name_of(isa));
        for (auto& delta : together.deltas) std::fill(delta.begin(), delta.end(), Real{7});
    }
    Crew<Real> crew(problem.network, problem.examples(), 5, 5, 2, isa, shuffled);
    crew.train(together.jobs);
    check(same(alone.deltas, together.deltas), std::string(net.name) + ": by two threads");
}

/// The model of a call may lie where that of the call before has been.
void a_model_is_read_again_for_every_call() {
    Problem<float> problem(nets()[0]);
    const std::atomic<bool> never{false};
    Mixed<float> first(problem, false);
    const auto worker = make_worker<float>(problem.network, 5);
    const auto job = std::span(first.jobs).first(1);
    worker->train(job, problem.examples(), 5, 5, true, never);
    const std::vector<float> before = first.deltas[0];
    for (float& value : problem.model) value = -value;
    worker->train(job, problem.examples(), 5, 5, true, never);
    check(before != first.deltas[0], "another model, another step");
}

}  // namespace

int main() {
    for (const Net& net : nets())
        for (InstructionSet isa : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
            if (isa > instruction_set()) continue;
            a_run_has_the_bits_of_its_jobs<float>(net, isa, true);
        }
    a_run_has_the_bits_of_its_jobs<float>(nets()[0], instruction_set(), false);
    for (const Net& net : {nets()[0], nets()[1]}) a_run_has_the_bits_of_its_jobs<double>(net, instruction_set(), true);
    a_model_is_read_again_for_every_call();
    return report("job runs");
}
