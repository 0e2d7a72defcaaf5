// Local training of one network by one thread, compiled once for every instruction set.
#pragma once

#include "feed.hpp"
#include "loss.hpp"
#include "passes.hpp"

namespace fedbench::train {
namespace {

inline constexpr std::size_t kPart = 20;  // examples of a full gradient or an evaluation that go through the network together

template <typename Real>
class NetworkWorker final : public Worker<Real> {
public:
    NetworkWorker(const Network& network, std::size_t largest, std::size_t threads)
        : arena_(network),
          example_(network.input()),
          classes_(network.classes()),
          dim_(network.dim()),
          passes_(network, arena_, std::max(largest, kPart), this->helpers, threads),
          weights_(arena_.size()),
          gradient_(arena_.size()),
          start_(arena_.size()),
          correction_(arena_.size()),
          anchor_(arena_.size()),
          at_anchor_(arena_.size()),
          first_(arena_.size()),
          total_(arena_.size()),
          labels_(std::max(largest, kPart)) {}

    void train(std::span<const Job<Real>> jobs, const Examples<Real>& data, std::uint64_t seed, std::size_t batch, bool shuffled,
               const std::atomic<bool>& cancelled) override {
        Feed<Real> feed(jobs, data, example_, seed, batch, shuffled);
        held_ = nullptr;
        for (const Job<Real>& job : jobs) {
            if (job.full_gradient != nullptr) full_gradient(job, data, cancelled);
            Words masks(seed, Purpose::dropout, job.client, job.k);
            prepare(job);
            const bool is_one_step = job.steps == 1 && is_plain(job) && job.end == nullptr && job.delta != nullptr && job.rule.lr != 0;
            for (std::int64_t step = 0; step < job.steps; ++step) {
                if (cancelled.load(std::memory_order_relaxed)) return;
                is_one_step ? only_step(job, feed, masks) : make_step(job, feed, masks, step == 0);
            }
            if (!is_one_step) finish(job);
        }
    }

    void gradient(const Real* x, const Examples<Real>& data, std::span<const std::int64_t> rows, Real* out,
                  const std::atomic<bool>& cancelled) override {
        arena_.load(x, weights_.data());
        std::vector<double> sum(arena_.size());
        std::vector<Real> mean(arena_.size());
        for (std::size_t begin = 0; begin < rows.size(); begin += kPart) {
            if (cancelled.load(std::memory_order_relaxed)) return;
            const std::size_t count = std::min(kPart, rows.size() - begin);
            for (std::size_t i = 0; i < count; ++i) {
                const auto row = static_cast<std::size_t>(rows[begin + i]);
                passes_.inputs[i] = data.x + row * passes_.features();
                labels_[i] = data.y[row];
            }
            step_at(weights_, gradient_, count, nullptr, Real{0});
            const double share = static_cast<double>(count) / static_cast<double>(rows.size());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share * static_cast<double>(gradient_.data()[i]);
        }
        for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<Real>(sum[i]);
        arena_.save(mean.data(), out);
    }

    void logits(std::span<const Real* const> models, std::span<const Real* const> rows, std::span<Real* const> out) override {
        while (evaluated_.size() < models.size()) evaluated_.emplace_back(arena_.size());
        for (std::size_t m = 0; m < models.size(); ++m) arena_.load(models[m], evaluated_[m].data());
        for (std::size_t begin = 0; begin < rows.size(); begin += kPart) {
            const std::size_t count = std::min(kPart, rows.size() - begin);
            std::copy_n(rows.data() + begin, count, passes_.inputs.data());
            for (std::size_t m = 0; m < models.size(); ++m) {  // while the examples are in a cache
                passes_.forward(evaluated_[m].data(), count, nullptr);
                std::copy_n(passes_.logits(), count * classes_, out[m] + begin * classes_);
            }
        }
    }

    std::uint64_t forward(const Real* x, std::span<const Real* const> rows, const typename Worker<Real>::Masks* masks, Real* out) override {
        arena_.load(x, weights_.data());
        std::copy(rows.begin(), rows.end(), passes_.inputs.data());
        std::uint64_t used = 0;
        if (masks != nullptr) {
            Words words(masks->seed, Purpose::dropout, masks->client, masks->k, masks->skip);
            passes_.forward(weights_.data(), rows.size(), &words);
            used = passes_.words() * rows.size();
        } else {
            passes_.forward(weights_.data(), rows.size(), nullptr);
        }
        std::copy_n(passes_.logits(), rows.size() * classes_, out);
        return used;
    }

    void pullback(const Real* dlogits, Real* out) override {
        std::copy_n(dlogits, passes_.batch() * classes_, passes_.slope());
        passes_.backward(weights_.data(), gradient_.data(), Real{0});
        arena_.save(gradient_.data(), out);
    }

private:
    static bool is_plain(const Job<Real>& job) {
        const Rule<Real>& rule = job.rule;
        return rule.weight_decay == 0 && rule.prox == 0 && rule.correction == nullptr && rule.anchor == nullptr &&
               job.first_gradient == nullptr && job.mean_gradient == nullptr;
    }

    std::size_t next_batch(Feed<Real>& feed) {
        const std::size_t count = feed.take(passes_.inputs, labels_);
        passes_.look_ahead(feed.ahead());
        return count;
    }

    void make_step(const Job<Real>& job, Feed<Real>& feed, Words& masks, bool is_first) {
        const bool plain = is_plain(job);
        const std::size_t count = next_batch(feed);
        held_ = nullptr;
        step_at(weights_, gradient_, count, &masks, plain ? -job.rule.lr : Real{0});
        if (job.rule.anchor != nullptr) step_at(anchor_, at_anchor_, count, &masks, Real{0});
        if (!plain) general_step(job, is_first);
    }

    /// Writes the progress of one plain step, (start - lr * gradient) - start. The start stays
    /// where it is, for the next job.
    void only_step(const Job<Real>& job, Feed<Real>& feed, Words& masks) {
        step_at(weights_, gradient_, next_batch(feed), &masks, Real{0});
        const Real *const start = weights_.data(), *const g = gradient_.data(), scale = -job.rule.lr;
        arena_.each([=, delta = job.delta](std::size_t at, std::size_t i) { delta[i] = fma(scale, g[at], start[at]) - start[at]; });
    }

    void full_gradient(const Job<Real>& job, const Examples<Real>& data, const std::atomic<bool>& cancelled) {
        const Rule<Real>& rule = job.rule;
        gradient(rule.start, data, job.shard, job.full_gradient, cancelled);
        for (std::size_t i = 0; rule.weight_decay != 0 && i < dim_; ++i)
            job.full_gradient[i] = fma(rule.weight_decay, rule.start[i], job.full_gradient[i]);
    }

    /// Computes the gradient of the mean loss of `count` examples or, with a rate, makes the step;
    /// see Passes::backward.
    void step_at(Buffer<Real>& weights, Buffer<Real>& gradient, std::size_t count, Words* masks, Real rate) {
        passes_.forward(weights.data(), count, masks);
        cross_entropy_gradient(passes_.logits(), passes_.slope(), labels_.data(), classes_, passes_.batch());
        passes_.backward(weights.data(), gradient.data(), rate);
    }

    void prepare(const Job<Real>& job) {
        if (held_ != job.rule.start) arena_.load(job.rule.start, weights_.data());
        held_ = job.rule.start;
        if (job.rule.prox != 0) arena_.load(job.rule.start, start_.data());
        if (job.rule.correction != nullptr) arena_.load(job.rule.correction, correction_.data());
        if (job.rule.anchor != nullptr) arena_.load(job.rule.anchor, anchor_.data());
        if (job.first_gradient != nullptr) first_.clear();
        if (job.mean_gradient != nullptr) total_.clear();
    }

    /// Makes the step from gradient_, with all terms of the rule.
    void general_step(const Job<Real>& job, bool is_first) {
        this->helpers.split(parts_worth(this->helpers, 8 * arena_.size()), [&](Part part) {
            const auto [begin, end] = part.of(arena_.size(), 16);
            general_step(job, is_first, begin, end);
        });
    }
    void general_step(const Job<Real>& job, bool is_first, std::size_t begin, std::size_t end) {
        const Rule<Real>& rule = job.rule;
        Real *const y = weights_.data(), *const h = gradient_.data();
        if (rule.anchor != nullptr)
            for (std::size_t i = begin; i < end; ++i) h[i] -= at_anchor_.data()[i];
        if (rule.weight_decay != 0) add_scaled(rule.weight_decay, y + begin, end - begin, h + begin);
        if (is_first && job.first_gradient != nullptr) std::copy(h + begin, h + end, first_.data() + begin);
        if (job.mean_gradient != nullptr)
            for (std::size_t i = begin; i < end; ++i) total_.data()[i] += h[i];
        if (rule.prox != 0)
            for (std::size_t i = begin; i < end; ++i) h[i] = fma(rule.prox, y[i] - start_.data()[i], h[i]);
        if (rule.correction != nullptr)
            for (std::size_t i = begin; i < end; ++i) h[i] += correction_.data()[i];
        add_scaled(-rule.lr, h + begin, end - begin, y + begin);
    }

    void finish(const Job<Real>& job) {
        if (job.end != nullptr) arena_.save(weights_.data(), job.end);
        if (job.delta != nullptr) {
            const Real *const end = weights_.data(), *const start = job.rule.start;
            arena_.each([=, delta = job.delta](std::size_t at, std::size_t i) { delta[i] = end[at] - start[i]; });
        }
        if (job.first_gradient != nullptr) arena_.save(first_.data(), job.first_gradient);
        if (job.mean_gradient == nullptr) return;
        for (std::size_t i = 0; job.steps > 0 && i < arena_.size(); ++i) total_.data()[i] /= static_cast<Real>(job.steps);
        arena_.save(total_.data(), job.mean_gradient);
    }

    Arena<Real> arena_;
    Shape example_;
    std::size_t classes_, dim_;
    Passes<Real> passes_;
    Buffer<Real> weights_, gradient_, start_, correction_, anchor_, at_anchor_, first_, total_;
    std::vector<Buffer<Real>> evaluated_;  // the models of `logits`
    std::vector<std::int64_t> labels_;
    const Real* held_ = nullptr;  // the start of which weights_ has the numbers
};

}  // namespace
}  // namespace fedbench::train
