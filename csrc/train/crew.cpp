#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>

#include "fedbench/train.hpp"

namespace fedbench::train {

namespace {

constexpr std::size_t kRuns = 8;      // for every thread, if there are as many jobs
constexpr double kRunWork = 1 << 22;  // multiply-adds forward after which a run ends: a tenth of a millisecond
constexpr double kShort = 1 << 29;    // multiply-adds forward of a call that ends too soon to be watched: some hundredths of a second
constexpr double kStep = 1e4;         // multiply-adds that take as long as the fixed part of a step
constexpr std::size_t kTask = 250;    // examples of an evaluation that one thread takes at a time

}  // namespace

template <typename Real>
Crew<Real>::Crew(Network network, Examples<Real> data, std::uint64_t seed, std::size_t batch, std::size_t threads, InstructionSet isa,
                 bool shuffled)
    : network_(std::move(network)), data_(data), seed_(seed), batch_(batch), shuffled_(shuffled), isa_(isa), team_(threads) {
    if (batch == 0) throw std::invalid_argument("batch_size: must be >= 1, got 0");
    if (threads == 0) throw std::invalid_argument("threads: must be >= 1, got 0");
    for (std::size_t i = 0; i < data.n; ++i)
        if (data.y[i] < 0 || static_cast<std::size_t>(data.y[i]) >= network_.classes())
            throw std::invalid_argument("y[" + std::to_string(i) + "]: must be in 0 .. " + std::to_string(network_.classes() - 1) +
                                        ", got " + std::to_string(data.y[i]));
    if (data.change.fill != nullptr && !network_.input().image)
        throw std::invalid_argument("fill: must be left out, since examples are no images");
    if (data.change.padding > kMostPadding)
        throw std::invalid_argument("padding: must be at most " + std::to_string(kMostPadding) + ", got " +
                                    std::to_string(data.change.padding));
    check_symbols("x", {data.x, data.n * network_.input().size()});
    for (const Stage& stage : network_.stages())
        multiply_adds_ += static_cast<double>(stage.weights) * static_cast<double>(stage.out.height * stage.out.width);
    const std::size_t largest = std::min(batch, std::max<std::size_t>(data.n, 1));  // since no shard is larger
    for (std::size_t i = 0; i < threads; ++i) workers_.push_back(make_worker<Real>(network_, largest, isa, threads));
}

template <typename Real>
void Crew<Real>::train(std::span<const Job<Real>> jobs, const Watch& watch) {
    const auto call = team_caller_.enter("train");
    for (const Job<Real>& job : jobs) check_rows(job.shard);
    std::vector<Job<Real>> sorted(jobs.begin(), jobs.end());
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Job<Real>& a, const Job<Real>& b) { return work(a) > work(b); });
    const auto runs = runs_of(sorted);
    std::atomic<std::size_t> finished{0};
    const auto train_run = [&](std::size_t i, Worker<Real>& worker) {
        worker.train(runs[i], data_, seed_, batch_, shuffled_, team_.cancelled());
        finished.fetch_add(runs[i].size(), std::memory_order_relaxed);
    };
    const auto watch_jobs = [&](std::size_t) { watch(finished.load(std::memory_order_relaxed)); };
    double all = 0;
    for (const Job<Real>& job : jobs) all += work(job) + kStep * static_cast<double>(job.steps);
    share(runs.size(), train_run, watch && all > kShort ? Watch(watch_jobs) : Watch());
}

/// Cuts jobs into runs that one thread takes together. Runs of short jobs have several jobs each,
/// as long as there are several runs for every thread.
template <typename Real>
std::vector<std::span<const Job<Real>>> Crew<Real>::runs_of(std::span<const Job<Real>> jobs) const {
    const std::size_t most = std::max<std::size_t>(1, jobs.size() / (kRuns * threads()));
    std::vector<std::span<const Job<Real>>> runs;
    for (std::size_t begin = 0, end; begin < jobs.size(); begin = end) {
        double size = 0;
        for (end = begin; end < jobs.size() && end - begin < most && size < kRunWork; ++end) size += work(jobs[end]);
        runs.push_back(jobs.subspan(begin, end - begin));
    }
    return runs;
}

/// The multiply-adds of a job, forward; computed before too large numbers of steps are refused.
template <typename Real>
double Crew<Real>::work(const Job<Real>& job) const {
    const double steps = static_cast<double>(job.steps) * static_cast<double>(std::min(batch_, job.shard.size()));
    return multiply_adds_ * (steps + (job.full_gradient != nullptr ? static_cast<double>(job.shard.size()) : 0));
}

template <typename Real>
void Crew<Real>::share(std::size_t count, const std::function<void(std::size_t, Worker<Real>&)>& work, const Watch& watch) {
    struct Working {
        std::atomic<std::size_t>& jobs;
        Helpers& helpers;
        Working(std::atomic<std::size_t>& working, Helpers& with) : jobs(working), helpers(with) { helpers.open(); }
        ~Working() { helpers.close(), jobs.fetch_sub(1, std::memory_order_release); }
    };
    std::atomic<std::size_t> working{count};
    const auto task = [&](std::size_t i, std::size_t thread) {
        if (i >= count) return help(working);
        const Working open(working, workers_[thread]->helpers);
        work(i, *workers_[thread]);
    };
    const std::size_t most = std::min<std::size_t>(workers_.size(), std::max(1u, std::thread::hardware_concurrency()));
    team_.run(count + most - 1, task, watch);
}

/// Called when all jobs have a thread: helps the thread with the fewest helpers, until no thread is
/// at work. More threads than processors would take turns, and wait for each other.
template <typename Real>
void Crew<Real>::help(const std::atomic<std::size_t>& working) {
    const std::size_t processors = std::thread::hardware_concurrency();
    for (std::size_t jobs; (jobs = working.load(std::memory_order_acquire)) > 0 && !team_.cancelled();) {
        if (jobs >= processors) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        Helpers* least = nullptr;
        for (const auto& worker : workers_)
            if (worker->helpers.is_open() && (least == nullptr || worker->helpers.parts() < least->parts())) least = &worker->helpers;
        least != nullptr ? least->help() : std::this_thread::yield();
    }
}

template <typename Real>
void Crew<Real>::logits(std::span<const Real> x, std::span<const Real> features, Real* out, const Watch& watch) {
    const auto call = team_caller_.enter("logits");
    check_symbols("features", features);
    const std::size_t width = network_.input().size(), n = features.size() / width;
    std::vector<const Real*> models;
    for (std::size_t at = 0; at < x.size(); at += network_.dim()) models.push_back(x.data() + at);
    team_.run((n + kTask - 1) / kTask,
              [&](std::size_t task, std::size_t thread) {
                  const Real* rows[kTask];
                  const std::size_t begin = task * kTask, count = std::min(kTask, n - begin);
                  for (std::size_t i = 0; i < count; ++i) rows[i] = features.data() + (begin + i) * width;
                  std::vector<Real*> to;
                  for (std::size_t m = 0; m < models.size(); ++m) to.push_back(out + (m * n + begin) * network_.classes());
                  workers_[thread]->logits(models, {rows, count}, to);
              },
              multiply_adds_ * static_cast<double>(n * models.size()) > kShort ? watch : Watch());
}

template <typename Real>
std::uint64_t Crew<Real>::forward(const Real* x, std::span<const Real> features, const typename Worker<Real>::Masks* masks, Real* out) {
    const auto call = student_caller_.enter("forward");
    check_symbols("features", features);
    const std::size_t width = network_.input().size(), n = features.size() / width;
    forward_rows_ = 0, forward_of_ = std::this_thread::get_id();
    if (n == 0) return 0;
    if (n > student_rows_) student_ = make_worker<Real>(network_, n, isa_), student_rows_ = n;
    student_features_.assign(features.begin(), features.end());  // the pullback needs them
    std::vector<const Real*> rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = student_features_.data() + i * width;
    const std::uint64_t words = student_->forward(x, rows, masks, out);
    forward_rows_ = n;
    return words;
}

template <typename Real>
void Crew<Real>::pullback(std::span<const Real> dlogits, Real* out) {
    const auto call = student_caller_.enter("pullback");
    if (forward_of_ == std::thread::id()) throw std::logic_error("pullback: needs a forward before it");
    if (forward_of_ != std::this_thread::get_id()) throw std::logic_error("pullback: the last forward was another thread's");
    if (dlogits.size() != forward_rows_ * network_.classes())
        throw std::invalid_argument("pullback: the last forward was of " + std::to_string(forward_rows_) + " rows, got " +
                                    std::to_string(dlogits.size()) + " slopes");
    if (forward_rows_ == 0) return void(std::fill_n(out, network_.dim(), Real{0}));
    student_->pullback(dlogits.data(), out);
}

template <typename Real>
void Crew<Real>::check_rows(std::span<const std::int64_t> rows) const {
    if (rows.empty()) throw std::out_of_range("shard: a client needs at least one example, got 0");
    for (std::int64_t row : rows)
        if (row < 0 || static_cast<std::size_t>(row) >= data_.n)
            throw std::out_of_range("shard: there are " + std::to_string(data_.n) + " examples, got row " + std::to_string(row));
}

template <typename Real>
void Crew<Real>::check_symbols(const char* name, std::span<const Real> features) const {
    if (network_.symbols() == 0) return;
    const auto symbols = static_cast<Real>(network_.symbols());
    for (std::size_t i = 0; i < features.size(); ++i) {
        const Real value = features[i];
        if (value >= 0 && value < symbols && std::trunc(value) == value) continue;
        const std::size_t width = network_.input().size();
        throw std::invalid_argument(std::string(name) + "[" + std::to_string(i / width) + ", " + std::to_string(i % width) +
                                    "]: must be a symbol, a whole number in 0 .. " + std::to_string(network_.symbols() - 1) + ", got " +
                                    std::to_string(value));
    }
}

template class Crew<float>;
template class Crew<double>;

}  // namespace fedbench::train
