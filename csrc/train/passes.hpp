// Forward and backward through the layers of a network.
#pragma once

#include <deque>

#include "layers.hpp"

namespace fedbench::train {
namespace {

/// The activations of a batch of at most `largest` examples, and the passes over them. Weights and
/// gradients are laid out as the arena says. The work is shared with `helpers`; at most `threads`
/// threads take part.
template <typename Real>
class Passes {
public:
    std::vector<const Real*> inputs;  // where the examples of a batch start

    Passes(const Network& network, const Arena<Real>& arena, std::size_t largest, Helpers& helpers, std::size_t threads) : inputs(largest) {
        plan(network, arena, largest, helpers, threads);
        give_memory(largest);
    }

    std::size_t features() const { return activations_.front().shape.size(); }
    std::size_t batch() const { return batch_; }
    std::uint64_t words() const { return words_; }  // of dropout, for one example
    const Real* logits() const { return activations_.back().value; }
    Real* slope() { return activations_.back().grad; }  // the gradient with respect to the logits

    /// Tells where the examples of the next batch start, which the next backward may fetch.
    void look_ahead(std::span<const Real* const> rows) { activations_.front().ahead = rows; }

    /// Computes the logits of the first `batch` of `inputs`, with dropout if there is a stream for
    /// its masks.
    void forward(const Real* weights, std::size_t batch, Words* masks) {
        bind(batch);
        Activation<Real>& input = activations_.front();
        if (rows_are_inputs_) {
            std::copy_n(inputs.data(), batch, input.rows.data());
            input.find_offsets(batch);
        } else if (input.shape.image) {
            to_image(inputs.data(), features(), batch, input.value);
        } else {
            for (std::size_t b = 0; b < batch; ++b) std::copy_n(inputs[b], features(), input.value + b * features());
        }
        for (const auto& layer : layers_) layer->forward(weights, masks);
    }

    /// Goes backward from `slope`: weights change by scale * gradient; if scale is 0, they stay and
    /// the gradient is written.
    void backward(Real* weights, Real* gradient, Real scale) {
        for (std::size_t i = layers_.size(); i-- > 0;) layers_[i]->backward(weights, gradient, scale);
        look_ahead({});
    }

private:
    /// How an activation is used.
    struct Use {
        bool is_changed_in_place = false, is_kept = false;
    };

    void plan(const Network& network, const Arena<Real>& arena, std::size_t largest, Helpers& helpers, std::size_t threads) {
        const std::vector<Stage>& stages = network.stages();
        Shape shape = network.input();
        std::size_t first = 0;
        while (first < stages.size() && stages[first].layer.kind == "flatten") shape = stages[first++].out;
        add_activation(shape);
        rows_are_inputs_ = stages[first].traits.reads_rows;
        for (std::size_t i = first; i < stages.size(); ++i) {
            const Stage& stage = stages[i];
            if (stage.layer.kind == "flatten" && !stage.in.image) continue;
            const bool is_pooled = stage.layer.kind == "conv2d" && i + 1 < stages.size() && stages[i + 1].layer.kind == "max_pool2d";
            const Stage* const pool = is_pooled ? &stages[++i] : nullptr;
            if (stage.traits.in_place) uses_.back().is_changed_in_place = true;
            else uses_.back().is_kept = stage.traits.keeps_input;
            Activation<Real>& in = activations_.back();
            if (!stage.traits.in_place) add_activation((is_pooled ? *pool : stage).out);
            layers_.push_back(AllLayers::placed<Real>({stage, pool, in, activations_.back(), &in == &activations_.front(),
                                                       stage.weights > 0 ? arena.find(stage.weight) : 0,
                                                       stage.traits.has_bias ? arena.find(stage.bias) : 0, largest, threads, helpers}));
            words_ += layers_.back()->words();
        }
    }

    void add_activation(const Shape& shape) {
        activations_.emplace_back().shape = shape;
        uses_.emplace_back();
    }

    void give_memory(std::size_t largest) {
        for (std::size_t i = 0; i < activations_.size(); ++i) {
            Activation<Real>& a = activations_[i];
            a.rows.resize(largest), a.offset.resize(largest);
            if (i > 0 || !rows_are_inputs_) a.own_value = Buffer<Real>(a.shape.size() * largest);
            a.value = a.own_value.data();
            if (i == 0) continue;  // the gradient of the input is not needed
            const bool is_free = i + 1 < activations_.size() && !uses_[i].is_changed_in_place && !uses_[i].is_kept;
            if (!is_free) a.own_grad = Buffer<Real>(a.shape.size() * largest);
            a.grad = is_free ? a.value : a.own_grad.data();
        }
    }

    void bind(std::size_t batch) {
        if (batch == batch_) return;
        batch_ = batch;
        for (const auto& layer : layers_) layer->bind(batch);
        for (std::size_t i = rows_are_inputs_ ? 1 : 0; i < activations_.size(); ++i)
            if (!activations_[i].shape.image) activations_[i].set_rows(batch);
    }

    std::size_t batch_ = 0;
    std::uint64_t words_ = 0;
    bool rows_are_inputs_ = false;
    std::deque<Activation<Real>> activations_;
    std::vector<Use> uses_;
    std::vector<std::unique_ptr<PlacedLayer<Real>>> layers_;
};

}  // namespace
}  // namespace fedbench::train
