// Forward and backward through the layers of a network.
#pragma once

#include "conv.hpp"
#include "linear.hpp"
#include "pointwise.hpp"
#include "symbols.hpp"

namespace fedbench::train {
namespace {

template <typename Real>
void add_scaled(Real scale, const Real* x, std::size_t n, Real* y) {
    for (std::size_t i = 0; i < n; ++i) y[i] = fma(scale, x[i], y[i]);
}

/// The activations of a batch of at most `largest` examples. Weights and gradients are laid out as the arena says. The work is that of
/// `helpers`, with all helpers at most `threads` of them.
template <typename Real>
class Passes {
public:
    std::vector<const Real*> inputs;  // where the examples of a batch start

    Passes(const Network& network, const Arena<Real>& arena, std::size_t largest, Helpers& helpers, std::size_t threads)
        : inputs(largest), helpers_(helpers), threads_(threads), largest_(largest), slopes_(largest) {
        plan(network, arena);
    }

    std::size_t features() const { return activations_.front().shape.size(); }
    std::size_t batch() const { return batch_; }
    std::uint64_t words() const { return words_; }  // of dropout, for one example
    const Real* logits() const { return activations_.back().value; }
    Real* slope() { return activations_.back().grad; }  // the gradient with respect to the logits

    /// The logits of the first `batch` of `inputs`; with dropout if there is a stream for its masks.
    void forward(const Real* weights, std::size_t batch, Words* masks) {
        set_batch(batch);
        Activation<Real>& input = activations_[0];
        if (rows_are_inputs_) {
            std::copy_n(inputs.data(), batch, input.rows.data());
            input.find_offsets(batch);
        } else if (input.shape.image) {
            to_image(inputs.data(), features(), batch, input.value);
        } else {
            for (std::size_t b = 0; b < batch; ++b) std::copy_n(inputs[b], features(), input.value + b * features());
        }
        for (Place& p : places_) {
            Activation<Real>&in = activations_[p.in], &out = activations_[p.out];
            const std::size_t n = in.shape.size() * batch;
            switch (p.stage.layer.kind) {
                case LayerKind::linear:
                    helpers_.split(parts_worth(helpers_, p.stage.weight_size() * batch), [&](Part part) {
                        linear_forward(part, p.stage.layer, weights + p.weight, weights + p.bias, in, out, batch);
                    });
                    break;
                case LayerKind::conv2d:
                    p.convolution.forward(helpers_, weights + p.weight, weights + p.bias, in.value, out.value);
                    break;
                case LayerKind::max_pool2d:
                    max_pool(windows_of(p.stage, batch), in.value, out.value, p.extra.data());
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
                case LayerKind::last:
                    last(in.rows.data(), in.shape.size(), batch, out.value, out.shape.size());
                    break;
                case LayerKind::embedding:
                    find_rows(p.stage.layer, in.rows.data(), in.shape.size(), batch, p.offset.data());
                    helpers_.split(parts_worth(helpers_, out.shape.size() * batch), [&](Part part) {
                        embedding_forward(part, p.stage.layer.outputs, weights + p.weight, p.offset.data(), n, out.value);
                    });
                    break;
            }
        }
    }

    /// From `slope`: weights change by scale * gradient, or if scale is 0 the gradient is set and they stay.
    void backward(Real* weights, Real* gradient, Real scale) {
        for (std::size_t i = places_.size(); i-- > 0;) {
            Place& p = places_[i];
            Activation<Real>&in = activations_[p.in], &out = activations_[p.out];
            const std::size_t n = in.shape.size() * batch_;
            const Real* const w = weights + p.weight;
            switch (p.stage.layer.kind) {
                case LayerKind::linear: {
                    Real* const to = scale != 0 ? weights : gradient;
                    helpers_.split(parts_worth(helpers_, p.stage.weight_size() * batch_), [&](Part part) {
                        linear_backward(part, p.stage.layer, w, p.offset.data(), in, out, p.in > 0 ? in.grad : nullptr, scale,
                                        to + p.weight, to + p.bias, batch_);
                    });
                    break;
                }
                case LayerKind::conv2d:
                    p.convolution.backward(helpers_, w, in.value, out.grad, gradient + p.weight, gradient + p.bias,
                                           p.in > 0 ? in.grad : nullptr);
                    if (scale == 0) break;
                    add_scaled(scale, gradient + p.weight, p.stage.weight_size(), weights + p.weight);
                    add_scaled(scale, gradient + p.bias, p.stage.layer.outputs, weights + p.bias);
                    break;
                case LayerKind::max_pool2d:
                    if (p.in > 0) max_pool_gradient(windows_of(p.stage, batch_), out.grad, p.extra.data(), in.grad);
                    break;
                case LayerKind::relu:
                    if (p.in > 0) relu_gradient(in.value, in.grad, n);
                    break;
                case LayerKind::flatten:
                    if (p.in > 0) {
                        for (std::size_t b = 0; b < batch_; ++b) slopes_[b] = out.grad + b * in.shape.size();
                        to_image(slopes_.data(), in.shape.size(), batch_, in.grad);
                    }
                    break;
                case LayerKind::dropout:
                case LayerKind::dropout2d:
                    if (p.in > 0 && masked_) apply_masks(p.stage, p.extra.data(), batch_, in.grad);
                    break;
                case LayerKind::last:
                    if (p.in > 0) last_gradient(out.grad, out.shape.size(), batch_, in.grad, in.shape.size());
                    break;
                case LayerKind::embedding:
                    std::fill_n(gradient + p.weight, p.stage.weight_size(), Real{0});
                    helpers_.split(parts_worth(helpers_, out.shape.size() * batch_), [&](Part part) {
                        embedding_backward(part, p.stage.layer.outputs, p.offset.data(), n, out.grad, gradient + p.weight);
                    });
                    if (scale != 0) add_scaled(scale, gradient + p.weight, p.stage.weight_size(), weights + p.weight);
                    return;  // before it there are symbols, which have no slopes
            }
        }
    }

private:
    /// A stage with what it works on. Layers that change values in place have one activation.
    struct Place {
        Stage stage;
        std::size_t in, out;       // activations
        std::size_t weight, bias;  // in the arena
        std::vector<Step> offset;  // where rows of W start: of linear all of them, of embedding those of the batch's symbols
        Convolution<Real> convolution;
        Buffer<Real> extra;  // of max_pool2d: places; of dropout: factors
    };

    void plan(const Network& network, const Arena<Real>& arena) {
        const std::vector<Stage>& stages = network.stages();
        Shape shape = network.input();
        std::size_t first = 0;
        while (first < stages.size() && stages[first].layer.kind == LayerKind::flatten) shape = stages[first++].out;
        activations_.emplace_back().shape = shape;
        rows_are_inputs_ = reads_rows(stages[first]);
        for (std::size_t i = first; i < stages.size(); ++i) {
            const Stage& stage = stages[i];
            const std::size_t in = activations_.size() - 1;
            const bool vector_flatten = stage.layer.kind == LayerKind::flatten && !stage.in.image;
            if (vector_flatten) continue;
            const bool pooled =
                stage.layer.kind == LayerKind::conv2d && i + 1 < stages.size() && stages[i + 1].layer.kind == LayerKind::max_pool2d;
            if (!in_place(stage)) activations_.emplace_back().shape = (pooled ? stages[i + 1] : stage).out;
            Place& place = places_.emplace_back(Place{stage, in, activations_.size() - 1, 0, 0, {}, {}, {}});
            if (stage.weight_size() > 0) place.weight = arena.find(stage.weight);
            if (stage.has_bias()) place.bias = arena.find(stage.bias);
            if (stage.layer.kind == LayerKind::embedding) place.offset.resize(stage.in.size() * largest_);
            if (stage.layer.kind == LayerKind::linear)
                for (std::size_t o = 0; o < stage.layer.outputs; ++o) place.offset.push_back(static_cast<Step>(o * stage.layer.inputs));
            if (stage.layer.kind == LayerKind::conv2d)
                place.convolution = Convolution<Real>(stage, pooled ? &stages[i + 1] : nullptr, in > 0, largest_, threads_);
            if (stage.layer.kind == LayerKind::max_pool2d) place.extra = Buffer<Real>(stage.out.size() * largest_);
            if (is_dropout(stage)) {
                const std::size_t words = stage.layer.kind == LayerKind::dropout2d ? stage.in.channels : stage.in.size();
                place.extra = Buffer<Real>(words * largest_);
                words_ += words;
            }
            if (pooled) ++i;
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
    static bool reads_rows(const Stage& s) {
        return s.layer.kind == LayerKind::linear || s.layer.kind == LayerKind::last || s.layer.kind == LayerKind::embedding;
    }
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

    Helpers& helpers_;
    std::size_t threads_, largest_, batch_ = 0;
    std::vector<const Real*> slopes_;  // of examples, where an image is made of them
    std::uint64_t words_ = 0;
    bool rows_are_inputs_ = false, masked_ = false;
    std::vector<Activation<Real>> activations_;
    std::vector<Place> places_;
};

}  // namespace
}  // namespace fedbench::train
