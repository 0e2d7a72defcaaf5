// The bits of training, sums, steps, distillation and plans, as numbers that are the same on every
// machine: x86-64 with any of its instruction sets, and aarch64. `test_golden --print` prints the
// table anew.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "fedbench/accumulate.hpp"
#include "fedbench/detail/power.hpp"
#include "fedbench/distill.hpp"
#include "fedbench/optimise.hpp"
#include "networks.hpp"
#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::testing::networks;

/// FNV-1a over the bytes of numbers.
class Fingerprint {
public:
    template <typename T>
    Fingerprint& add(const std::vector<T>& values) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
        for (std::size_t i = 0; i < values.size() * sizeof(T); ++i) sum_ = (sum_ ^ bytes[i]) * 0x100000001b3ULL;
        return *this;
    }
    std::uint64_t value() const { return sum_; }

private:
    std::uint64_t sum_ = 0xcbf29ce484222325ULL;
};

struct Golden {
    const char* name;
    std::uint64_t float32, float64;
};

// clang-format off
constexpr Golden kGolden[] = {
#include "golden.inc"
};
// clang-format on

template <typename Real>
std::uint64_t sums(InstructionSet isa) {
    std::vector<std::vector<Real>> vectors;
    std::vector<const Real*> at;
    for (std::uint32_t k = 0; k < 5; ++k) vectors.push_back(draws<Real>(9001, 20 + k));
    for (const auto& one : vectors) at.push_back(one.data());
    const std::vector<double> weights{0.1, 0.2, 0.3, -0.4, 1.5};
    std::vector<Real> out(9001);
    const double norm2 = weighted_sum<Real>(weights, at, out, isa);
    const Movement moved = movement<Real>(vectors[0], vectors[1], vectors[2], isa);
    return Fingerprint()
        .add(out)
        .add(std::vector{norm2, dot<Real>(vectors[0], vectors[1], isa), moved.x2, moved.moved2, moved.delta2, moved.product})
        .value();
}

/// Products with rows: the last ones and an only one have orders of their own.
std::uint64_t products(std::size_t rows) {
    Fingerprint all;
    for (std::size_t n : {1, 2, 3, 4, 10, 15, 37, 62}) {
        std::vector<double> out(rows);
        row_dots(draws<double>(rows * n, 50), draws<double>(n, 51), out);
        all.add(out);
    }
    return all.value();
}

std::uint64_t powers(double exponent) {
    std::vector<double> all;
    for (double base : draws<double>(500, 60, 3)) all.push_back(portable_pow(std::abs(base) + 1e-3, exponent));
    for (int stale = 1; stale < 500; ++stale) all.push_back(portable_pow(stale, exponent));
    return Fingerprint().add(all).value();
}

template <typename Real>
std::uint64_t steps(InstructionSet isa) {
    auto x = draws<Real>(5003, 30), m = draws<Real>(5003, 31), v = draws<Real>(5003, 32), vhat = v;
    for (auto* one : {&v, &vhat})
        for (Real& value : *one) value = std::abs(value);
    const auto g = draws<Real>(5003, 33);
    const AdamRule rule{0.01, 0.9, 0.99, 1e-3, true, 3};
    adaptive_step<Real>(x, {m, v, vhat}, g, rule, true, isa);
    clip_adam<Real>(x, {m, v, {}}, g, rule, 1.0, isa);
    const Clip clip = clip_sgd<Real>(x, g, 0.1, 2.0, isa);
    return Fingerprint().add(x).add(m).add(v).add(vhat).add(std::vector{clip.norm, clip.factor}).value();
}

template <typename Real>
std::uint64_t distilled(InstructionSet isa) {
    Fingerprint all;
    for (std::size_t classes : {2, 10, 37, 1000}) {
        const std::size_t rows = 13;
        const auto s = draws<Real>(rows * classes, 40, 4), t = draws<Real>(rows * classes, 41, 4);
        std::vector<Real> grad(s.size()), p(s.size()), logits(distill_workspace(rows, classes));
        std::vector<std::int64_t> label(rows);
        std::vector<double> entropy(rows), kl(rows), ce(rows);
        std::vector<TeacherRow> teacher(rows);
        const DistillRule rule{classes, {0.2, 0.8}, Teacher::logits};
        const Distilled total = distill<Real>(s, t, rule, {grad, p, label, entropy, kl, ce}, {teacher, logits}, isa);
        all.add(grad).add(p).add(label).add(entropy).add(kl).add(ce).add(std::vector{total.loss});
    }
    return all.value();
}

std::uint64_t plan(DurationKind kind, const PolicyConfig& policy) {
    SystemModel system = fixed_system(std::vector<double>(20, 1.0), 0.25, 0.5);
    system.seed = 7;
    system.compute = Durations("compute", kind, {1.5}, {2.5}, true, {});
    const Plan whole(system, policy, updates(200));
    const JobColumns& jobs = whole.jobs;
    return Fingerprint()
        .add(jobs.client)
        .add(jobs.base)
        .add(jobs.t_dispatch)
        .add(jobs.t_finish)
        .add(jobs.t_arrive)
        .add(whole.updates.time)
        .add(whole.updates.entries)
        .value();
}

struct Case {
    std::string name;
    std::uint64_t float32, float64;
};

std::vector<Case> cases(InstructionSet isa) {
    std::vector<Case> all;
    for (const Net& net : nets())
        all.push_back({std::string("train ") + net.name, Fingerprint().add(whole_run(Problem<float>(net), isa)).value(),
                       Fingerprint().add(whole_run(Problem<double>(net), isa)).value()});
    all.push_back({"sums", sums<float>(isa), sums<double>(isa)});
    all.push_back({"products", products(1), products(11)});  // one row and eleven stand in for the two columns
    all.push_back({"powers", powers(-0.5), powers(2.7)});    // two exponents
    all.push_back({"steps", steps<float>(isa), steps<double>(isa)});
    all.push_back({"distil", distilled<float>(isa), distilled<double>(isa)});
    return all;
}

/// Plans have no instruction sets: a policy and a rounds policy stand in for the two columns.
std::vector<Case> plans() {
    Rounds rounds;
    rounds.select = Select::without_replacement, rounds.cohort = 5;
    std::vector<Case> all;
    for (const auto& [name, kind] : {std::pair{"exponential", DurationKind::exponential}, std::pair{"uniform", DurationKind::uniform},
                                     std::pair{"lognormal", DurationKind::lognormal}, std::pair{"pareto", DurationKind::pareto}})
        all.push_back({std::string("plan ") + name, plan(kind, stream(7, 3)), plan(kind, rounds)});
    return all;
}

void compare(const Case& got, std::string_view where) {
    for (const Golden& golden : kGolden)
        if (got.name == golden.name) {
            check(got.float32 == golden.float32, got.name + " in float32 on " + std::string(where));
            check(got.float64 == golden.float64, got.name + " in float64 on " + std::string(where));
            return;
        }
    check(false, got.name + " has no golden bits");
}

}  // namespace

int main(int count, char** arguments) {
    const auto planned = plans();
    if (count > 1 && std::string_view(arguments[1]) == "--print") {
        auto all = cases(InstructionSet::portable);
        all.insert(all.end(), planned.begin(), planned.end());
        for (const Case& one : all)
            std::printf("{\"%s\", 0x%016llx, 0x%016llx},\n", one.name.c_str(), static_cast<unsigned long long>(one.float32),
                        static_cast<unsigned long long>(one.float64));
        return 0;
    }
    for (InstructionSet isa : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512})
        if (isa <= instruction_set())
            for (const Case& one : cases(isa)) compare(one, name_of(isa));
    for (const Case& one : planned) compare(one, "every machine");
    return report("golden");
}
