// Small networks of every kind of layer, examples for them, and whole runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "fedbench/philox.hpp"
#include "fedbench/train.hpp"

namespace fedbench::testing::networks {

using namespace fedbench::train;

inline Layer linear(std::size_t inputs, std::size_t outputs) { return {.kind = "linear", .inputs = inputs, .outputs = outputs}; }
inline Layer conv(std::size_t inputs, std::size_t outputs, std::size_t kernel, std::size_t stride = 1, std::size_t padding = 0) {
    return {.kind = "conv2d", .inputs = inputs, .outputs = outputs, .kernel = kernel, .stride = stride, .padding = padding};
}
inline Layer pool(std::size_t kernel) { return {.kind = "max_pool2d", .kernel = kernel}; }
inline Layer dropout(double p) { return {.kind = "dropout", .p = p}; }
inline Layer last(std::size_t outputs) { return {.kind = "last", .outputs = outputs}; }
inline Layer embedding(std::size_t symbols, std::size_t width) { return {.kind = "embedding", .inputs = symbols, .outputs = width}; }
inline const Layer relu{.kind = "relu"}, flatten{.kind = "flatten"};

struct Net {
    const char* name;
    std::vector<Layer> layers;
    Shape input;
};

/// Odd sizes, so that no row is a whole number of registers; windows that leave rows over; every
/// stride from 1 to 3.
inline std::vector<Net> nets() {
    return {
        {"softmax", {linear(13, 3)}, {13}},
        {"mlp", {flatten, linear(35, 21), relu, linear(21, 6)}, {1, 5, 7, true}},
        {"pooled", {conv(1, 7, 3), pool(2), relu, flatten, linear(7 * 2 * 2, 4)}, {1, 7, 7, true}},
        {"pooled later", {conv(1, 4, 3), relu, pool(2), flatten, linear(4 * 3 * 3, 4)}, {1, 9, 9, true}},
        {"strided", {conv(2, 6, 3, 2, 1), relu, conv(6, 5, 2, 1, 1), flatten, linear(5 * 5 * 5, 3)}, {2, 8, 8, true}},
        {"wide", {conv(1, 6, 3), pool(2), relu, flatten, linear(6 * 19 * 20, 3)}, {1, 41, 42, true}},  // bands of gradients
        {"wide and strided", {conv(2, 6, 3, 2, 1), pool(3), relu, flatten, linear(6 * 13 * 14, 3)}, {2, 80, 85, true}},
        {"deep", {conv(1, 12, 2), conv(12, 40, 3), flatten, linear(40 * 5 * 5, 110), linear(110, 3)}, {1, 8, 8, true}},
        {"many channels", {conv(3, 70, 3, 1, 1), relu, conv(70, 9, 3, 2), flatten, linear(9 * 3 * 3, 5)}, {3, 8, 8, true}},
        {"dropped", {flatten, dropout(0.5), linear(18, 9), relu, linear(9, 2)}, {2, 3, 3, true}},
        {"sparse", {relu, conv(3, 4, 2, 3, 2), relu, flatten, linear(4 * 4 * 4, 3)}, {3, 9, 7, true}},
        {"symbols", {last(5), embedding(6, 7), linear(35, 11), relu, linear(11, 3)}, {9}},  // of 6 symbols all are used often
        {"many symbols", {flatten, embedding(90, 3), relu, last(10), flatten, linear(10, 4)}, {1, 2, 3, true}},
        {"bare symbols", {embedding(4, 3), last(4)}, {5}},
    };
}

template <typename Real>
std::vector<Real> draws(std::size_t n, std::uint32_t k, double scale = 1) {
    RandomStream stream(11, Purpose::evaluation, 0, k);
    std::vector<Real> values(n);
    for (Real& value : values) value = static_cast<Real>(scale * stream.normal());
    return values;
}

template <typename Real>
struct Problem {
    Network network;
    std::vector<Real> x, model;
    std::vector<std::int64_t> y, shard;

    explicit Problem(const Net& net, std::size_t n = 23) : network(net.layers, net.input), y(n), shard(n - 2) {
        x = draws<Real>(n * net.input.size(), 1);
        if (network.symbols() > 0)
            for (Real& value : x) value = std::floor(std::min(std::abs(value) / 3, Real{0.999f}) * static_cast<Real>(network.symbols()));
        model = draws<Real>(network.dim(), 2, 0.3);
        for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int64_t>(i % network.classes());
        std::iota(shard.begin(), shard.end(), 1);
    }
    Examples<Real> examples() const { return {x.data(), y.data(), y.size()}; }

    double loss(Worker<Real>& worker, const std::vector<Real>& at) const {
        std::vector<const Real*> rows;
        std::vector<std::int64_t> labels;
        for (std::int64_t row : shard) {
            rows.push_back(x.data() + static_cast<std::size_t>(row) * network.input().size());
            labels.push_back(y[static_cast<std::size_t>(row)]);
        }
        std::vector<Real> logits(rows.size() * network.classes());
        const Real* const model = at.data();
        Real* const out = logits.data();
        worker.logits({&model, 1}, rows, {&out, 1});
        std::vector<double> losses(rows.size()), right(rows.size());
        score<Real>(logits, labels, network.classes(), losses.data(), right.data());
        return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
    }
};

/// One local run.
template <typename Real>
std::vector<Real> trained(const Problem<Real>& problem, Job<Real> job, Worker<Real>& worker, std::size_t batch = 9) {
    const std::atomic<bool> never{false};
    std::vector<Real> end(problem.model.size());
    job.shard = problem.shard, job.rule.start = problem.model.data(), job.end = end.data();
    worker.train({&job, 1}, problem.examples(), 5, batch, true, never);
    return end;
}
template <typename Real>
std::vector<Real> trained(const Problem<Real>& problem, Job<Real> job, std::size_t batch, InstructionSet isa) {
    return trained(problem, job, *make_worker<Real>(problem.network, batch, isa), batch);
}

/// Three steps of plain SGD: with the 21 examples of a problem, batches of 9, 9 and 3.
template <typename Real>
Job<Real> plain_job() {
    Job<Real> job;
    job.steps = 3, job.rule.lr = Real{0.05f};
    return job;
}

/// All bits of a run: of its by-products and of its end.
template <typename Real>
std::vector<Real> whole_run(const Problem<Real>& problem, Worker<Real>& worker) {
    const std::size_t d = problem.model.size();
    std::vector<Real> first(d), mean(d), full(d);
    Job<Real> job = plain_job<Real>();
    job.rule.weight_decay = Real{0.01f}, job.rule.prox = Real{0.3f};
    job.first_gradient = first.data(), job.mean_gradient = mean.data(), job.full_gradient = full.data();
    std::vector<Real> all = trained(problem, job, worker);
    for (const auto* part : {&first, &mean, &full}) all.insert(all.end(), part->begin(), part->end());
    return all;
}
template <typename Real>
std::vector<Real> whole_run(const Problem<Real>& problem, InstructionSet isa) {
    return whole_run(problem, *make_worker<Real>(problem.network, 9, isa));
}

}  // namespace fedbench::testing::networks
