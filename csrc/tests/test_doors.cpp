// What the doors of the core refuse or take besides the usual: no rows, a second caller, more draws
// than one call may make.
#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fedbench/train.hpp"
#include "plan.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::train;

/// Softmax regression of 4 features and 3 classes on 5 examples.
struct Small {
    Network network{std::vector<Layer>{{"linear", 4, 3}}, Shape{4}};
    std::vector<float> x = std::vector<float>(20, 0.5f), model = std::vector<float>(15, 0.25f), out = std::vector<float>(15, 7);
    std::vector<std::int64_t> y{0, 1, 2, 1, 0}, shard{0, 1, 2, 3, 4};
    Crew<float> crew{network, {x.data(), y.data(), 5}, 1, 2, 1, instruction_set()};

    train::Job<float> job(std::int64_t steps) {
        train::Job<float> job;
        job.steps = steps, job.shard = shard, job.rule.start = model.data(), job.rule.lr = 0.01f, job.end = out.data();
        return job;
    }
};

void no_rows_are_fine() {
    Small small;
    float logits[6] = {7, 7, 7, 7, 7, 7};
    const Worker<float>::Masks masks{1, 2, 3, 0};
    small.crew.logits(small.model, {}, logits);
    check(small.crew.forward(small.model.data(), {}, &masks, logits) == 0, "the first forward has no rows, and uses no words");
    check(logits[0] == 7 && small.crew.forward_rows() == 0, "nothing is written");
    small.crew.pullback({}, small.out.data());
    check(std::count(small.out.begin(), small.out.end(), 0.0f) == 15, "the gradient of a sum of nothing is 0");
    small.crew.forward(small.model.data(), std::span(small.x).first(8), nullptr, logits);
    const std::vector<float> slopes(6, 1);
    small.crew.pullback(slopes, small.out.data());
    check(logits[0] == 0.75f && small.out[0] == 1, "rows after none");
    check_throws<std::invalid_argument>([&] { small.crew.pullback(std::span(slopes).first(3), small.out.data()); },
                                        "of 2 rows, got 3 slopes");
    small.crew.forward(small.model.data(), {}, nullptr, logits);
    small.crew.pullback({}, small.out.data());
    check(small.out[0] == 0, "none after rows");
}

void a_second_caller_is_refused() {
    Small small;
    float logits[15];
    const auto job = small.job(2'000'000);  // long enough to be told of, and stopped then
    const auto refuses = [&](auto call, std::string_view name) {
        check_throws<std::logic_error>([&] { small.crew.train(std::span(&job, 1), [&](std::size_t) { call(); }); }, name);
    };
    refuses([&] { small.crew.train(std::span(&job, 1)); }, "train: another call of the same object is under way");
    refuses([&] { small.crew.logits(small.model, small.x, logits); }, "logits: another call");
    small.crew.logits(small.model, small.x, logits);
    check(logits[0] == 0.75f, "the door is open again after errors");
    const auto fine = [&] {
        small.crew.forward(small.model.data(), small.x, nullptr, logits);
        throw std::runtime_error("enough");
    };
    check_throws<std::runtime_error>([&] { small.crew.train(std::span(&job, 1), [&](std::size_t) { fine(); }); }, "enough");
}

void a_pullback_is_of_the_same_thread() {
    Small small;
    float logits[15];
    const std::vector<float> slopes(15, 1);
    check_throws<std::logic_error>([&] { small.crew.pullback(slopes, small.out.data()); }, "needs a forward before it");
    small.crew.forward(small.model.data(), small.x, nullptr, logits);
    std::thread([&] {
        check_throws<std::logic_error>([&] { small.crew.pullback(slopes, small.out.data()); }, "the last forward was another thread's");
        small.crew.forward(small.model.data(), std::span(small.x).first(4), nullptr, logits);
    }).join();
    check_throws<std::logic_error>([&] { small.crew.pullback(std::span(slopes).first(3), small.out.data()); }, "another thread's");
}

void a_scheduler_serves_one_caller() {
    Scheduler scheduler(random_system(5, 1), stream(2, 2), updates(9));
    {
        const auto call = scheduler.enter("test");
        check_throws<std::logic_error>([&] { scheduler.next(1); }, "next: another call of the same object is under way");
        check_throws<std::logic_error>([&] { scheduler.select({1}); }, "select: another call");
        Scheduler other(std::move(scheduler));
        check(other.next(1).updates.time.size() == 1, "what was moved away is free");
        scheduler = std::move(other);
    }
    check(scheduler.next(1).updates.time.size() == 1, "and so is one whose call has ended");
    check_throws<std::invalid_argument>([&] { scheduler.next(0); }, "max_updates");
    check(scheduler.next(1).updates.time.size() == 1, "and one that refused");
}

void draws_are_bounded() {
    const fedbench::RandomStream random(1, Purpose::data_order);
    check_throws<std::invalid_argument>([&] { draw_batches(random, 10, 5, std::int64_t{1} << 40); }, "at most 268435456 rows are drawn");
    check_throws<std::invalid_argument>([&] { draw_batches(random, 10, 5, kMostDraws / 5 + 1); }, "at most 268435456 rows are drawn");
    check_throws<std::invalid_argument>([&] { draw_batches(random, 0xffffffff, 1, 1); }, "of 4294967295 examples");
    check_throws<std::invalid_argument>([&] { draw_batches(random, 10, 5, -1); }, "steps must be >= 0, got -1");
    check(draw_batches(random, 10, 50, 3).rows.size() == 30, "a batch larger than the examples counts as they do");
}

}  // namespace

int main() {
    no_rows_are_fine();
    a_second_caller_is_refused();
    a_pullback_is_of_the_same_thread();
    a_scheduler_serves_one_caller();
    draws_are_bounded();
    return report("doors");
}
