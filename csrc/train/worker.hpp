// Forward, backward and step of a network, compiled once for every instruction set.
#pragma once

#include "activations.hpp"
#include "conv.hpp"
#include "linear.hpp"
#include "pointwise.hpp"

namespace fedbench::train {
namespace {

inline constexpr std::size_t kPart = 20;  // examples of a full gradient or an evaluation that go through the network together

template <typename Real>
class NetworkWorker final : public Worker<Real> {
public:
    NetworkWorker(const Network& network, std::size_t largest)
        : stages_(network.stages()),
          arena_(network),
          classes_(network.classes()),
          dim_(network.dim()),
          largest_(std::max(largest, kPart)),
          weights_(arena_.size()),
          gradient_(arena_.size()),
          start_(arena_.size()),
          correction_(arena_.size()),
          first_(arena_.size()),
          total_(arena_.size()),
          labels_(largest_),
          inputs_(largest_) {
        plan(network);
    }

    void train(const Job<Real>& job, const Examples<Real>& data, std::uint64_t seed, std::size_t batch,
               const std::atomic<bool>& cancelled) override {
        const Rule<Real>& rule = job.rule;
        if (job.full_gradient != nullptr) {
            gradient(rule.start, data, job.shard, job.full_gradient);
            for (std::size_t i = 0; rule.weight_decay != 0 && i < dim_; ++i)
                job.full_gradient[i] = madd(rule.weight_decay, rule.start[i], job.full_gradient[i]);
        }
        prepare(job);
        Stream masks(seed, Purpose::dropout, job.client, job.k);
        const Batches order = draw_batches(Stream(seed, Purpose::data_order, job.client, job.k),
                                           static_cast<std::uint32_t>(job.shard.size()), static_cast<std::uint32_t>(batch), job.steps);
        const bool plain = rule.weight_decay == 0 && rule.prox == 0 && rule.correction == nullptr && job.first_gradient == nullptr &&
                           job.mean_gradient == nullptr;
        for (std::int64_t step = 0; step < job.steps; ++step) {
            if (cancelled.load(std::memory_order_relaxed)) return;
            const auto begin = static_cast<std::size_t>(order.offsets[static_cast<std::size_t>(step)]);
            const auto end = static_cast<std::size_t>(order.offsets[static_cast<std::size_t>(step) + 1]);
            for (std::size_t i = begin; i < end; ++i) {
                const auto row = static_cast<std::size_t>(job.shard[static_cast<std::size_t>(order.rows[i])]);
                inputs_[i - begin] = data.x + row * features_;
                labels_[i - begin] = data.y[row];
            }
            forward_pass(end - begin, &masks);
            cross_entropy_gradient(activations_.back().value, activations_.back().grad, labels_.data(), classes_, batch_);
            backward_pass(plain ? -rule.lr : Real{0});
            if (!plain) general_step(job, step == 0);
        }
        finish(job);
    }

    void gradient(const Real* x, const Examples<Real>& data, std::span<const std::int64_t> rows, Real* out) override {
        arena_.load(x, weights_.data());
        std::vector<double> sum(arena_.size());
        std::vector<Real> mean(arena_.size());
        for (std::size_t begin = 0; begin < rows.size(); begin += kPart) {
            const std::size_t count = std::min(kPart, rows.size() - begin);
            for (std::size_t i = 0; i < count; ++i) {
                const auto row = static_cast<std::size_t>(rows[begin + i]);
                inputs_[i] = data.x + row * features_;
                labels_[i] = data.y[row];
            }
            forward_pass(count, nullptr);
            cross_entropy_gradient(activations_.back().value, activations_.back().grad, labels_.data(), classes_, batch_);
            backward_pass(Real{0});
            const double share = static_cast<double>(count) / static_cast<double>(rows.size());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share * static_cast<double>(gradient_.data()[i]);
        }
        for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<Real>(sum[i]);
        arena_.save(mean.data(), out);
    }

    void logits(const Real* x, std::span<const Real* const> rows, Real* out) override {
        arena_.load(x, weights_.data());
        for (std::size_t begin = 0; begin < rows.size(); begin += kPart) {
            const std::size_t count = std::min(kPart, rows.size() - begin);
            std::copy_n(rows.data() + begin, count, inputs_.data());
            forward_pass(count, nullptr);
            std::copy_n(activations_.back().value, count * classes_, out + begin * classes_);
        }
    }

    std::uint64_t forward(const Real* x, std::span<const Real* const> rows, const typename Worker<Real>::Masks* masks, Real* out) override {
        arena_.load(x, weights_.data());
        std::copy(rows.begin(), rows.end(), inputs_.data());
        std::uint64_t used = 0;
        if (masks != nullptr) {
            Stream stream(masks->seed, Purpose::dropout, masks->client, masks->k);
            for (std::uint64_t i = 0; i < masks->skip; ++i) stream.word();
            forward_pass(rows.size(), &stream);
            used = words_ * rows.size();
        } else {
            forward_pass(rows.size(), nullptr);
        }
        std::copy_n(activations_.back().value, rows.size() * classes_, out);
        return used;
    }

    void pullback(const Real* dlogits, Real* out) override {
        std::copy_n(dlogits, batch_ * classes_, activations_.back().grad);
        backward_pass(Real{0});
        arena_.save(gradient_.data(), out);
    }

private:
    /// A stage with what it works on. Layers that change values in place have one activation.
    struct Place {
        Stage stage;
        std::size_t in, out;       // activations
        std::size_t weight, bias;  // in the arena
        std::vector<Step> offset;  // of linear: where the rows of W start
        Convolution<Real> convolution;
        Buffer<Real> extra;  // of max_pool2d: places; of dropout: factors
    };

    void plan(const Network& network) {
        Shape shape = network.input();
        features_ = shape.size();
        std::size_t first = 0;
        while (first < stages_.size() && stages_[first].layer.kind == LayerKind::flatten) shape = stages_[first++].out;
        activations_.emplace_back().shape = shape;
        rows_are_inputs_ = stages_[first].layer.kind == LayerKind::linear;
        for (std::size_t i = first; i < stages_.size(); ++i) {
            const Stage& stage = stages_[i];
            const std::size_t in = activations_.size() - 1;
            const bool vector_flatten = stage.layer.kind == LayerKind::flatten && !stage.in.image;
            if (vector_flatten) continue;
            if (!in_place(stage)) activations_.emplace_back().shape = stage.out;
            Place& place = places_.emplace_back(Place{stage, in, activations_.size() - 1, 0, 0, {}, {}, {}});
            if (stage.has_parameters()) place.weight = arena_.find(stage.weight), place.bias = arena_.find(stage.bias);
            if (stage.layer.kind == LayerKind::linear)
                for (std::size_t o = 0; o < stage.layer.outputs; ++o) place.offset.push_back(static_cast<Step>(o * stage.layer.inputs));
            if (stage.layer.kind == LayerKind::conv2d) place.convolution = Convolution<Real>(stage, largest_);
            if (stage.layer.kind == LayerKind::max_pool2d) place.extra = Buffer<Real>(stage.out.size() * largest_);
            if (is_dropout(stage)) {
                const std::size_t words = stage.layer.kind == LayerKind::dropout2d ? stage.in.channels : stage.in.size();
                place.extra = Buffer<Real>(words * largest_);
                words_ += words;
            }
        }
        for (std::size_t i = 0; i < activations_.size(); ++i) {
            Activation<Real>& a = activations_[i];
            a.rows.resize(largest_), a.offset.resize(largest_);
            if (i > 0 || !rows_are_inputs_) a.own_value = Buffer<Real>(a.shape.size() * largest_);
            a.value = a.own_value.data();
            if (i == 0) continue;  // nobody asks for the input's gradient
            const bool free = i + 1 < activations_.size() && !changed_in_place(i) && consumer(i).layer.kind != LayerKind::linear &&
                              consumer(i).layer.kind != LayerKind::conv2d;
            if (!free) a.own_grad = Buffer<Real>(a.shape.size() * largest_);
            a.grad = free ? a.value : a.own_grad.data();
        }
    }

    static bool is_dropout(const Stage& s) { return s.layer.kind == LayerKind::dropout || s.layer.kind == LayerKind::dropout2d; }
    static bool in_place(const Stage& s) { return s.layer.kind == LayerKind::relu || is_dropout(s); }
    bool changed_in_place(std::size_t activation) const {
        return std::any_of(places_.begin(), places_.end(), [&](const Place& p) { return p.in == activation && p.out == activation; });
    }
    const Stage& consumer(std::size_t activation) const {
        return std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.in == activation && p.out != activation; })
            ->stage;
    }

    void set_batch(std::size_t batch) {
        if (batch == batch_) return;
        batch_ = batch;
        for (Place& p : places_)
            if (p.stage.layer.kind == LayerKind::conv2d) p.convolution.set_batch(batch);
        for (std::size_t i = rows_are_inputs_ ? 1 : 0; i < activations_.size(); ++i)
            if (!activations_[i].shape.image) activations_[i].set_rows(batch);
    }

    /// Logits of the first `batch` of inputs_, into the last activation.
    void forward_pass(std::size_t batch, Stream* masks) {
        set_batch(batch);
        Activation<Real>& input = activations_[0];
        if (rows_are_inputs_) {
            std::copy_n(inputs_.data(), batch, input.rows.data());
            input.find_offsets(batch);
        } else if (input.shape.image) {
            to_image(inputs_.data(), features_, batch, input.value);
        } else {
            for (std::size_t b = 0; b < batch; ++b) std::copy_n(inputs_[b], features_, input.value + b * features_);
        }
        for (Place& p : places_) {
            Activation<Real>&in = activations_[p.in], &out = activations_[p.out];
            const std::size_t n = in.shape.size() * batch;
            switch (p.stage.layer.kind) {
                case LayerKind::linear:
                    linear_forward(p.stage.layer, weights_.data() + p.weight, weights_.data() + p.bias, in, out, batch);
                    break;
                case LayerKind::conv2d:
                    p.convolution.forward(weights_.data() + p.weight, weights_.data() + p.bias, in.value, out.value);
                    break;
                case LayerKind::max_pool2d:
                    max_pool(p.stage, in.value, batch, out.value, p.extra.data());
                    break;
                case LayerKind::relu:
                    relu(in.value, n);
                    break;
                case LayerKind::flatten:
                    from_image(in.value, in.shape.size(), batch, out.value);
                    break;
                case LayerKind::dropout:
                case LayerKind::dropout2d:
                    masked_ = masks != nullptr;
                    if (!masked_) break;
                    draw_masks(p.stage, *masks, batch, p.extra.data());
                    apply_masks(p.stage, p.extra.data(), batch, in.value);
                    break;
            }
        }
    }

    /// From the gradient of the last activation: parameters change by scale * gradient, or if scale is 0 gradient_ is set.
    void backward_pass(Real scale) {
        for (std::size_t i = places_.size(); i-- > 0;) {
            Place& p = places_[i];
            Activation<Real>&in = activations_[p.in], &out = activations_[p.out];
            const std::size_t n = in.shape.size() * batch_;
            const Real* const w = weights_.data() + p.weight;
            switch (p.stage.layer.kind) {
                case LayerKind::linear: {
                    Real* const to = scale != 0 ? weights_.data() : gradient_.data();
                    linear_backward(p.stage.layer, w, p.offset.data(), in, out.grad, p.in > 0 ? in.grad : nullptr, scale, to + p.weight,
                                    to + p.bias, batch_);
                    break;
                }
                case LayerKind::conv2d:
                    if (p.in > 0) p.convolution.input_gradient(w, out.grad, in.grad);
                    p.convolution.weight_gradient(in.value, out.grad, gradient_.data() + p.weight, gradient_.data() + p.bias);
                    if (scale != 0) add_scaled(p.weight, p.stage.weight_size(), scale), add_scaled(p.bias, p.stage.layer.outputs, scale);
                    break;
                case LayerKind::max_pool2d:
                    if (p.in > 0) max_pool_gradient(p.stage, out.grad, p.extra.data(), batch_, in.grad);
                    break;
                case LayerKind::relu:
                    if (p.in > 0) relu_gradient(in.value, in.grad, n);
                    break;
                case LayerKind::flatten:
                    if (p.in > 0) {
                        for (std::size_t b = 0; b < batch_; ++b) inputs_[b] = out.grad + b * in.shape.size();
                        to_image(inputs_.data(), in.shape.size(), batch_, in.grad);
                    }
                    break;
                case LayerKind::dropout:
                case LayerKind::dropout2d:
                    if (p.in > 0 && masked_) apply_masks(p.stage, p.extra.data(), batch_, in.grad);
                    break;
            }
        }
    }

    void add_scaled(std::size_t at, std::size_t n, Real scale) {
        Real* const w = weights_.data() + at;
        const Real* const g = gradient_.data() + at;
        for (std::size_t i = 0; i < n; ++i) w[i] = madd(scale, g[i], w[i]);
    }

    void prepare(const Job<Real>& job) {
        arena_.load(job.rule.start, weights_.data());
        if (job.rule.prox != 0) arena_.load(job.rule.start, start_.data());
        if (job.rule.correction != nullptr) arena_.load(job.rule.correction, correction_.data());
        first_.clear(), total_.clear();
    }

    /// The step from gradient_, with all terms of the rule.
    void general_step(const Job<Real>& job, bool is_first) {
        const Rule<Real>& rule = job.rule;
        Real *const y = weights_.data(), *const h = gradient_.data();
        const std::size_t n = arena_.size();
        if (rule.weight_decay != 0)
            for (std::size_t i = 0; i < n; ++i) h[i] = madd(rule.weight_decay, y[i], h[i]);
        if (is_first && job.first_gradient != nullptr) std::copy_n(h, n, first_.data());
        if (job.mean_gradient != nullptr)
            for (std::size_t i = 0; i < n; ++i) total_.data()[i] += h[i];
        if (rule.prox != 0)
            for (std::size_t i = 0; i < n; ++i) h[i] = madd(rule.prox, y[i] - start_.data()[i], h[i]);
        if (rule.correction != nullptr)
            for (std::size_t i = 0; i < n; ++i) h[i] += correction_.data()[i];
        for (std::size_t i = 0; i < n; ++i) y[i] = madd(-rule.lr, h[i], y[i]);
    }

    void finish(const Job<Real>& job) {
        arena_.save(weights_.data(), job.end);
        if (job.first_gradient != nullptr) arena_.save(first_.data(), job.first_gradient);
        if (job.mean_gradient == nullptr) return;
        for (std::size_t i = 0; job.steps > 0 && i < arena_.size(); ++i) total_.data()[i] /= static_cast<Real>(job.steps);
        arena_.save(total_.data(), job.mean_gradient);
    }

    std::vector<Stage> stages_;
    Arena<Real> arena_;
    std::size_t classes_, dim_, largest_, batch_ = 0, features_ = 0;
    std::uint64_t words_ = 0;  // dropout words of one example
    bool rows_are_inputs_ = false, masked_ = false;
    Buffer<Real> weights_, gradient_, start_, correction_, first_, total_;
    std::vector<Activation<Real>> activations_;
    std::vector<Place> places_;
    std::vector<std::int64_t> labels_;
    std::vector<const Real*> inputs_;
};

}  // namespace
}  // namespace fedbench::train
