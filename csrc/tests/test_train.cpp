// Local training: gradients against differences of the loss, steps against the rule, threads and
// instruction sets against each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "fedbench/philox.hpp"
#include "fedbench/train.hpp"
#include "networks.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::testing::networks;
using namespace fedbench::train;

constexpr InstructionSet kSets[] = {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};

template <typename Real>
double distance(const std::vector<Real>& a, const std::vector<Real>& b) {
    double apart = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        apart += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
        size += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(apart / size);
}

template <typename Real>
bool same(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

void gradients_are_slopes() {
    for (const Net& net : nets()) {
        const Problem<double> problem(net);
        for (InstructionSet isa : kSets) {
            if (isa > instruction_set()) continue;
            const auto worker = make_worker<double>(problem.network, 7, isa);
            const std::atomic<bool> never{false};
            std::vector<double> gradient(problem.model.size());
            worker->gradient(problem.model.data(), problem.examples(), problem.shard, gradient.data(), never);
            const std::vector<double> direction = draws<double>(gradient.size(), 3);
            const double step = 1e-6, along = std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0);
            std::vector<double> ahead = problem.model, behind = problem.model;
            for (std::size_t i = 0; i < ahead.size(); ++i) ahead[i] += step * direction[i], behind[i] -= step * direction[i];
            const double slope = (problem.loss(*worker, ahead) - problem.loss(*worker, behind)) / (2 * step);
            check(std::abs(slope - along) <= 1e-6 * std::abs(slope) + 1e-8, std::string(net.name) + " on " + name_of(isa));
        }
    }
}

void a_step_follows_the_rule() {
    const Problem<double> problem(nets()[2]);
    const std::size_t d = problem.model.size();
    const std::vector<double> correction = draws<double>(d, 4, 0.1);
    std::vector<double> first(d), mean(d), full(d);
    Job<double> job;
    job.steps = 1;
    job.rule.lr = 0.25, job.rule.weight_decay = 0.5, job.rule.prox = 2, job.rule.correction = correction.data();
    job.first_gradient = first.data(), job.mean_gradient = mean.data(), job.full_gradient = full.data();
    const auto once = trained(problem, job, 64, instruction_set());  // one batch is the whole shard: g is the full gradient
    check(distance(first, full) < 1e-14 && same(first, mean), "by-products of one step of everything");
    std::vector<double> expected(d);
    for (std::size_t i = 0; i < d; ++i) expected[i] = problem.model[i] - 0.25 * (full[i] + correction[i]);
    check(distance(once, expected) < 1e-14, "the first step has no prox");
    job.rule.anchor = job.rule.correction = problem.model.data();
    const auto anchored = trained(problem, job, 64, instruction_set());
    for (std::size_t i = 0; i < d; ++i) expected[i] = problem.model[i] - 0.25 * (0.5 * problem.model[i] + problem.model[i]);
    check(distance(anchored, expected) < 1e-14, "at its anchor a step sees decay and correction alone");
    job.steps = 0;
    const auto never = trained(problem, job, 64, instruction_set());
    check(same(never, problem.model), "no steps: end is start");
    check(std::all_of(first.begin(), first.end(), [](double h) { return h == 0; }) && first == mean, "no steps: no gradients");
}

/// Chains of sums are the same whatever the registers.
void instruction_sets_have_the_same_bits() {
    for (const Net& net : nets()) {
        const Problem<float> single(net);
        const Problem<double> wide(net);
        const auto narrow_bits = whole_run(single, InstructionSet::portable);
        const auto wide_bits = whole_run(wide, InstructionSet::portable);
        for (InstructionSet isa : kSets) {
            if (isa > instruction_set()) continue;
            check(same(whole_run(single, isa), narrow_bits), std::string(net.name) + " has other bits on " + name_of(isa));
            check(same(whole_run(wide, isa), wide_bits), std::string(net.name) + " in float64 has other bits on " + name_of(isa));
        }
    }
}

void instruction_sets_agree() {
    for (const Net& net : nets()) {
        const Problem<float> single(net);
        const Problem<double> exact(net);
        Job<float> job;
        Job<double> wide;
        job.steps = wide.steps = 3;  // batches of 9, 9 and 3
        job.rule.lr = 0.05f, wide.rule.lr = 0.05;
        const auto truth = trained(exact, wide, 9, InstructionSet::portable);
        for (InstructionSet isa : kSets) {
            if (isa > instruction_set()) continue;
            check(distance(trained(exact, wide, 9, isa), truth) < 1e-13, std::string(net.name) + " in float64 on " + name_of(isa));
            const auto end = trained(single, job, 9, isa);
            check(distance(std::vector<double>(end.begin(), end.end()), truth) < 1e-5, std::string(net.name) + " on " + name_of(isa));
        }
    }
}

/// A step without by-products adds into the parameters where others make a gradient first. Five
/// steps of 9, 9, 3, 9 and 9 examples.
void by_products_change_no_bit() {
    for (const Net& net : nets()) {
        const Problem<double> problem(net);
        const std::size_t d = problem.model.size();
        std::vector<double> first(d), again(d), mean(d), expected(d);
        Job<double> plain;
        plain.steps = 5, plain.rule.lr = 0.05;
        Job<double> general = plain, once = plain;
        general.first_gradient = first.data(), general.mean_gradient = mean.data();
        once.steps = 1, once.first_gradient = again.data();
        const auto end = trained(problem, plain, 9, instruction_set());
        check(same(end, trained(problem, general, 9, instruction_set())), std::string(net.name) + ": plain steps");
        trained(problem, once, 9, instruction_set());
        check(same(first, again) && !same(first, mean), std::string(net.name) + ": the first gradient is of the first step");
        for (std::size_t i = 0; i < d; ++i) expected[i] = problem.model[i] - 0.05 * 5 * mean[i];
        check(distance(end, expected) < 1e-13, std::string(net.name) + ": the mean gradient is what was gone");
    }
}

/// The second run starts with a gradient in evaluation, after training with dropout.
void a_worker_keeps_nothing_of_a_run() {
    for (const Net& net : nets()) {
        const Problem<double> problem(net);
        const auto worker = make_worker<double>(problem.network, 9);
        const auto once = whole_run(problem, *worker);
        check(same(once, whole_run(problem, *worker)), std::string(net.name) + ": the same run again");
    }
}

void prox_pulls_to_the_start() {
    const Problem<double> problem(nets()[2]);
    Job<double> job;
    job.steps = 2, job.rule.lr = 0.25, job.rule.prox = 2;
    std::vector<double> mean(problem.model.size());
    job.mean_gradient = mean.data();
    Job<double> free = job;
    free.steps = 1, free.rule.prox = 0, free.mean_gradient = nullptr;
    const auto middle = trained(problem, free, 64, instruction_set()), end = trained(problem, job, 64, instruction_set());
    std::vector<double> expected(end.size());
    for (std::size_t i = 0; i < end.size(); ++i) expected[i] = problem.model[i] - 0.25 * (2 * mean[i] + 2 * (middle[i] - problem.model[i]));
    check(distance(end, expected) < 1e-14, "the second step has a prox");
}

/// An image whose windows all have the sum 10, but each of the four in an order of its own.
void a_maximum_is_the_first_of_equals() {
    Problem<double> problem({"equals", {conv(1, 1, 2), pool(2), flatten, linear(1, 2)}, {1, 3, 3, true}}, 3);
    problem.x = {1, 2, 1, 3, 4, 3, 1, 2, 1, 1, 2, 1, 3, 4, 3, 1, 2, 1, 1, 2, 1, 3, 4, 3, 1, 2, 1};
    problem.model = {1, 1, 1, 1, 0, 1, -1, 0, 0};
    std::vector<double> first(problem.model.size());
    Job<double> job;
    job.steps = 1, job.first_gradient = first.data();
    trained(problem, job, 1, instruction_set());
    check(first[0] != 0 && first[1] == 2 * first[0] && first[2] == 3 * first[0] && first[3] == 4 * first[0], "the first window wins");

    problem.x[17] = std::nan("");  // in the last window of the second example
    const std::vector<const double*> rows{problem.x.data(), problem.x.data() + 9};
    std::vector<double> logits(4);
    make_worker<double>(problem.network, 2, instruction_set())->forward(problem.model.data(), rows, nullptr, logits.data());
    check(std::isfinite(logits[0]) && std::isnan(logits[2]), "a NaN wins, and stays with its example");
}

void masks_follow_the_stream() {
    // A net that is linear behind its dropout: the mask of the first step is seen in the gradient
    // of the last layer's weight.
    const std::vector<Layer> layers{dropout(0.25), linear(40, 2)};
    Problem<double> problem({"dropout", layers, {40}}, 3);
    std::fill(problem.x.begin(), problem.x.end(), 1.0);
    problem.shard = {1};
    std::vector<double> first(problem.model.size());
    Job<double> job;
    job.steps = 1, job.client = 3, job.k = 4, job.first_gradient = first.data();
    trained(problem, job, 1, instruction_set());
    RandomStream stream(5, Purpose::dropout, 3, 4);
    bool dropped = false, kept = false;
    for (std::size_t i = 0; i < 40; ++i) {
        const bool is_kept = stream.word() >= 0.25 * 0x1p32;
        (is_kept ? kept : dropped) = true;
        const double bias = first[80];  // the gradient of the bias is that of the logit, and the input is the mask
        check(std::abs(first[i] - (is_kept ? bias / 0.75 : 0)) < 1e-15, "a factor of the mask");
    }
    check(kept && dropped, "the stream drops some and keeps some");
}

/// Two examples of the symbols 1 0 1 and 2 1 1 of four; the logits are the rows of the last symbol.
void a_row_is_found_and_gets_all_its_slopes() {
    Problem<double> problem({"rows", {embedding(4, 2), linear(6, 2)}, {3}}, 2);
    problem.x = {1, 0, 1, 2, 1, 1}, problem.shard = {0, 1};
    problem.model = {10, 11, 20, 21, 30, 31, 40, 41, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    const auto worker = make_worker<double>(problem.network, 2, instruction_set());
    const std::vector<const double*> rows{problem.x.data(), problem.x.data() + 3};
    std::vector<double> logits(4), gradient(problem.model.size());
    worker->forward(problem.model.data(), rows, nullptr, logits.data());
    check(logits == std::vector<double>{20, 21, 30, 31}, "the rows of the first symbols");
    std::fill(problem.model.begin() + 8, problem.model.end(), 1.0);  // now every logit is the sum of all three rows, and the bias
    worker->forward(problem.model.data(), rows, nullptr, logits.data());
    check(logits == std::vector<double>{104, 104, 144, 144}, "sums of rows");
    worker->pullback(std::vector<double>{1, 0, 0, 100}.data(), gradient.data());
    check(std::vector<double>(gradient.begin(), gradient.begin() + 8) == std::vector<double>{1, 1, 202, 202, 100, 100, 0, 0},
          "a symbol that occurs twice in an example gets both slopes, one that does not occur gets none");
    problem.x[1] = std::nan(""), problem.x[2] = 4, problem.x[3] = -1;
    worker->forward(problem.model.data(), rows, nullptr, logits.data());
    check(logits == std::vector<double>{20 + 21 + 2 * 21 + 1, 84, 10 + 11 + 2 * 41 + 1, 104}, "changed data stay in the table");
}

void what_is_no_symbol_is_refused() {
    Problem<float> problem({"symbols", {last(2), embedding(6, 4), linear(8, 3)}, {3}}, 5);
    const auto crew = [&] { return Crew<float>(problem.network, problem.examples(), 1, 4, 1, instruction_set()); };
    auto works = crew();
    std::vector<float> logits(15);
    for (const float bad : {6.0f, -1.0f, 2.5f, std::nanf(""), INFINITY}) {
        std::vector<float> other = problem.x;
        other[7] = bad;
        check_throws<std::invalid_argument>([&] { works.logits(problem.model, other, logits.data()); },
                                            "features[2, 1]: must be a symbol, a whole number in 0 .. 5, got ");
        check_throws<std::invalid_argument>([&] { works.forward(problem.model.data(), other, nullptr, logits.data()); }, "features[2, 1]");
    }
    problem.x[14] = 6;
    check_throws<std::invalid_argument>(crew, "x[4, 2]: must be a symbol, a whole number in 0 .. 5, got 6");
}

void threads_change_nothing() {
    const Problem<float> problem(nets()[3], 40);
    constexpr std::size_t jobs = 13;
    std::vector<std::vector<float>> first;
    for (std::size_t threads : {1, 2, 4}) {
        Crew<float> crew(problem.network, problem.examples(), 5, 6, threads, instruction_set());
        std::vector<std::vector<float>> ends(jobs, std::vector<float>(problem.model.size()));
        std::vector<std::vector<float>> deltas = ends;
        std::vector<Job<float>> work(jobs);
        for (std::size_t i = 0; i < jobs; ++i) {
            work[i].delta = deltas[i].data();
            work[i].client = static_cast<std::uint32_t>(i), work[i].steps = static_cast<std::int64_t>(i % 5);
            work[i].shard = std::span(problem.shard).subspan(i, 3 + i);  // full and short batches, one worker after another
            work[i].rule.lr = 0.1f, work[i].rule.start = problem.model.data(), work[i].end = ends[i].data();
        }
        crew.train(work);
        for (std::size_t i = 0; i < jobs; ++i) {
            bool is_progress = true;
            for (std::size_t j = 0; j < ends[i].size(); ++j) is_progress = is_progress && deltas[i][j] == ends[i][j] - problem.model[j];
            check(is_progress, "delta is end - start");
        }
        std::vector<float> logits(problem.y.size() * problem.network.classes());
        crew.logits(problem.model, problem.x, logits.data());
        ends.push_back(logits);
        if (first.empty()) first = ends;
        check(std::equal(ends.begin(), ends.end(), first.begin(), same<float>), std::to_string(threads) + " threads");
    }
}

void models_are_evaluated_together_as_alone() {
    for (const Net& net : nets()) {
        Problem<float> problem(net, 23);
        Crew<float> crew(problem.network, problem.examples(), 1, 4, 2, instruction_set());
        const std::size_t size = problem.y.size() * problem.network.classes();
        std::vector<float> models, alone, together(3 * size);
        for (float scale : {1.0f, -0.5f, 2.0f}) {
            std::vector<float> model = problem.model, logits(size);
            for (float& weight : model) weight *= scale;
            crew.logits(model, problem.x, logits.data());
            models.insert(models.end(), model.begin(), model.end());
            alone.insert(alone.end(), logits.begin(), logits.end());
        }
        crew.logits(models, problem.x, together.data());
        check(same(alone, together), std::string(net.name) + ": three models at a time");
    }
}

void a_team_stops_at_errors() {
    Team team(3);
    std::atomic<int> ran{0};
    const auto fails = [&](std::size_t i, std::size_t) {
        if (i == 2) throw std::runtime_error("task 2");
        ++ran;
    };
    check_throws<std::runtime_error>([&] { team.run(100, fails); }, "task 2");
    check(ran < 100, "the rest does not start");
    ran = 0;
    team.run(50, [&](std::size_t, std::size_t thread) { ran += thread < 3; });
    check(ran == 50, "and the team goes on");
    const auto waits = [&](std::size_t, std::size_t) {
        while (!team.cancelled()) std::this_thread::yield();
    };
    check_throws<std::runtime_error>([&] { team.run(4, waits, [](std::size_t) { throw std::runtime_error("enough"); }); }, "enough");
    team.run(0, waits);
    check(!team.cancelled(), "no tasks, no waiting");
}

void the_caller_works_too_unless_it_watches() {
    Team alone(1), team(3);
    const auto me = std::this_thread::get_id();
    bool is_me = true;
    alone.run(20, [&](std::size_t, std::size_t thread) { is_me = is_me && thread == 0 && std::this_thread::get_id() == me; });
    check(is_me, "one thread is the calling one");
    alone.run(
        20, [&](std::size_t, std::size_t) { is_me = is_me && std::this_thread::get_id() != me; }, [](std::size_t) {});
    check(is_me, "one that watches does nothing else");
    for (int call = 0; call < 300; ++call) {  // threads that are awake, and threads that sleep
        std::atomic<int> ran{0}, misnamed{0}, at_once{0};
        std::atomic<std::size_t> busy[3] = {0, 0, 0};
        const auto task = [&](std::size_t, std::size_t thread) {
            at_once += busy[thread]++ > 0;
            misnamed += (thread == 0) != (std::this_thread::get_id() == me);
            ++ran, --busy[thread];
        };
        team.run(7, task);
        check(ran == 7 && misnamed == 0 && at_once == 0, "every task is done once, by a thread of its own number");
        if (call % 30 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

void misfits_are_refused() {
    const auto network = [](std::vector<Layer> layers, Shape input) { return Network(layers, input); };
    check_throws<std::invalid_argument>([&] { network({{.kind = "conv3d"}}, {4}); }, "layers: unknown kind conv3d");
    check_throws<std::invalid_argument>([&] { network({linear(5, 2)}, {4}); }, "layer 0 (linear): takes (5,), gets (4,)");
    check_throws<std::invalid_argument>([&] { network({flatten, conv(1, 2, 3)}, {1, 4, 4, true}); }, "layer 1 (conv2d): takes images");
    check_throws<std::invalid_argument>([&] { network({conv(1, 2, 5)}, {1, 4, 4, true}); }, "has a kernel of 5, gets a side of only 4");
    check_throws<std::invalid_argument>([&] { network({conv(1, 2, 3)}, {1, 4, 4, true}); }, "add flatten");
    check_throws<std::invalid_argument>([&] { network({relu}, {4}); }, "none of them has parameters");
    check_throws<std::invalid_argument>([&] { network({last(5), linear(5, 2)}, {4}); }, "layer 0 (last): takes a vector of at least 5");
    check_throws<std::invalid_argument>([&] { network({last(0)}, {4}); }, "takes a vector of at least 1");
    check_throws<std::invalid_argument>([&] { network({last(1)}, {1, 4, 4, true}); }, "gets (1, 4, 4)");
    check_throws<std::invalid_argument>([&] { network({embedding(0, 3)}, {4}); }, "layer 0 (embedding): takes a vector of symbols");
    check_throws<std::invalid_argument>([&] { network({embedding(3, 0)}, {4}); }, "for 3 symbols of 0");
    check_throws<std::invalid_argument>([&] { network({embedding(3, 2)}, {1, 4, 4, true}); }, "gets (1, 4, 4)");
    check_throws<std::invalid_argument>([&] { network({relu, embedding(3, 2)}, {4}); }, "only flatten and last may come before it");
    check_throws<std::invalid_argument>([&] { network({embedding(1 << 14, 1 << 13)}, {4}); }, "at most 67108864 parameters");
    const std::size_t huge = std::size_t{1} << 31;
    check_throws<std::invalid_argument>([&] { network({linear(4, huge)}, {4}); }, "at most 16777216 as any of its numbers");
    check_throws<std::invalid_argument>([&] { network({linear(4, 1 << 24), linear(1 << 24, 64)}, {4}); }, "at most 67108864 parameters");
    check_throws<std::invalid_argument>(
        [&] {
            network({conv(1, 2, 1, 1, 1 << 20), flatten}, {1, 4, 4, true});
        },
        "numbers of an example with its border");
    check_throws<std::invalid_argument>([&] { network({conv(1, 1 << 20, 1), flatten}, {1, 9, 9, true}); }, "numbers of an example");
    check_throws<std::invalid_argument>([&] { network({relu}, {huge, huge, huge, true}); }, "input: expected at most");
    check_throws<std::invalid_argument>([&] { network({dropout(1), linear(4, 2)}, {4}); }, "p must be in [0, 1)");
    Problem<float> problem(nets()[0]);
    const auto crew = [&](std::size_t batch) { return Crew<float>(problem.network, problem.examples(), 1, batch, 1, instruction_set()); };
    check_throws<std::invalid_argument>([&] { crew(0); }, "batch_size");
    std::vector<float> end(problem.model.size());
    Job<float> job;
    job.steps = 1, job.rule.start = problem.model.data(), job.end = end.data();
    const std::vector<std::int64_t> outside{0, 23};
    Crew<float> works(problem.network, problem.examples(), 1, 4, 1, instruction_set());
    check_throws<std::out_of_range>([&] { works.train(std::span(&job, 1)); }, "needs at least one example");
    job.shard = outside;
    check_throws<std::out_of_range>([&] { works.train(std::span(&job, 1)); }, "there are 23 examples, got row 23");
    problem.y[7] = 3;
    check_throws<std::invalid_argument>([&] { crew(4); }, "y[7]: must be in 0 .. 2, got 3");
    const auto score_nothing = [] { score<float>({}, {}, 0, nullptr, nullptr, InstructionSet::portable); };
    check_throws<std::invalid_argument>(score_nothing, "logits: expected at least one class, got none");
}

}  // namespace

int main() {
    gradients_are_slopes();
    a_step_follows_the_rule();
    by_products_change_no_bit();
    a_worker_keeps_nothing_of_a_run();
    prox_pulls_to_the_start();
    instruction_sets_agree();
    instruction_sets_have_the_same_bits();
    a_maximum_is_the_first_of_equals();
    masks_follow_the_stream();
    a_row_is_found_and_gets_all_its_slopes();
    what_is_no_symbol_is_refused();
    threads_change_nothing();
    models_are_evaluated_together_as_alone();
    a_team_stops_at_errors();
    the_caller_works_too_unless_it_watches();
    misfits_are_refused();
    return report("train");
}
