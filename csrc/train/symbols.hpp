// The layers on symbols, which are whole numbers that name rows of a table.
#pragma once

#include <algorithm>

#include "layer.hpp"

namespace fedbench::train {
namespace {

/// Finds where the table's rows of the batch's symbols start, example after example. The data were
/// checked; if somebody has changed a number since to something that is no symbol, it counts as the
/// symbol 0, so that nothing beyond the table is touched.
template <typename Real>
void find_rows(const Layer& layer, const Real* const* rows, std::size_t window, std::size_t batch, Step* offset) {
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t t = 0; t < window; ++t) {
            const Real symbol = rows[b][t];
            const bool is_symbol = symbol >= 0 && symbol < static_cast<Real>(layer.inputs);
            *offset++ = is_symbol ? static_cast<Step>(symbol) * static_cast<Step>(layer.outputs) : 0;
        }
}

/// Copies the rows of `table` that start at `offset`, one after the other; a part is some of them.
template <typename Real>
void embedding_forward(Part part, std::size_t width, const Real* table, const Step* offset, std::size_t count, Real* out) {
    const auto [begin, end] = part.of(count);
    for (std::size_t i = begin; i < end; ++i) std::copy_n(table + offset[i], width, out + i * width);
}

/// Adds the slope of every row of the result to the row of `gradient` that it was a copy of, in the
/// order of examples and, within one, of places. A part is some columns, so every element is one
/// chain of additions whoever helps.
template <typename Real>
void embedding_backward(Part part, std::size_t width, const Step* offset, std::size_t count, const Real* slope, Real* gradient) {
    const auto [begin, end] = part.of(width, kLanes<Real>);
    for (std::size_t i = 0; i < count; ++i) {
        const Real* const from = slope + i * width;
        Real* const to = gradient + offset[i];
        for (std::size_t c = begin; c < end; ++c) to[c] += from[c];
    }
}

/// The layer embedding: for every symbol of an example, one after the other, its row of the weight
/// (inputs, outputs).
template <typename Real>
class Embedding final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{
        .name = "embedding",
        .output = [](const Fit& fit) -> Shape {
            const Layer& layer = fit.layer;
            if (fit.in.image || layer.inputs < 1 || layer.outputs < 1)
                fit.refuse("takes a vector of symbols, and has at least one symbol and one number of each, gets " + Fit::text_of(fit.in) +
                           " for " + std::to_string(layer.inputs) + " symbols of " + std::to_string(layer.outputs));
            return {fit.in.channels * layer.outputs};
        },
        .weights = [](const Layer& layer) { return static_cast<double>(layer.inputs) * static_cast<double>(layer.outputs); },
        .traits = {.reads_rows = true, .takes_symbols = true},
    };

    explicit Embedding(const Place<Real>& place) : PlacedLayer<Real>(place), offset_(place.stage.in.size() * place.largest) {}

    void forward(const Real* weights, Words*) override {
        find_rows(this->layer(), this->at.in.rows.data(), this->at.in.shape.size(), this->batch, offset_.data());
        this->split(this->at.out.shape.size() * this->batch, [&](Part part) {
            embedding_forward(part, this->layer().outputs, weights + this->at.weight, offset_.data(), this->numbers(), this->at.out.value);
        });
    }
    /// Symbols have no slopes, so a layer before this one gets none.
    void backward(Real* weights, Real* gradient, Real scale) override {
        Real* const to = gradient + this->at.weight;
        std::fill_n(to, this->at.stage.weights, Real{0});
        this->split(this->at.out.shape.size() * this->batch, [&](Part part) {
            embedding_backward(part, this->layer().outputs, offset_.data(), this->numbers(), this->at.out.grad, to);
        });
        if (scale != 0) add_scaled(scale, to, this->at.stage.weights, weights + this->at.weight);
    }

private:
    std::vector<Step> offset_;  // where the rows of the batch's symbols start
};

/// The layer last: the last `outputs` numbers of a vector.
template <typename Real>
class Last final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{
        .name = "last",
        .output = [](const Fit& fit) -> Shape {
            const std::size_t kept = fit.layer.outputs;
            if (fit.in.image || kept < 1 || kept > fit.in.channels)
                fit.refuse_shape("a vector of at least " + std::to_string(std::max<std::size_t>(1, kept)));
            return {kept};
        },
        .traits = {.reads_rows = true},
    };
    using PlacedLayer<Real>::PlacedLayer;

    void forward(const Real*, Words*) override {
        const std::size_t size = this->at.in.shape.size(), kept = this->at.out.shape.size();
        for (std::size_t b = 0; b < this->batch; ++b) std::copy_n(this->at.in.rows[b] + size - kept, kept, this->at.out.value + b * kept);
    }
    void backward(Real*, Real*, Real) override {
        if (this->at.is_first) return;
        const std::size_t size = this->at.in.shape.size(), kept = this->at.out.shape.size();
        for (std::size_t b = 0; b < this->batch; ++b) {
            Real* const to = this->at.in.grad + b * size;
            std::fill_n(to, size - kept, Real{0});
            std::copy_n(this->at.out.grad + b * kept, kept, to + size - kept);
        }
    }
};

}  // namespace
}  // namespace fedbench::train
