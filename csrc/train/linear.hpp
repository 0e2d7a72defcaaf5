// The layer linear on vectors: z = W x + b for every example.
#pragma once

#include <algorithm>

#include "layer.hpp"

namespace fedbench::train {
namespace {

/// Computes some outputs of z = W x + b. Rows of W stay in the first-level cache while all examples
/// pass.
template <typename Real>
void linear_forward(Part part, const Layer& layer, const Real* w, const Real* bias, const Activation<Real>& in, Activation<Real>& out,
                    std::size_t batch) {
    const auto [begin, end] = part.of(layer.outputs, kDotRows);
    in_parts(end - begin, kDotRows, [&, first = begin](std::size_t from, std::size_t m) {
        const std::size_t o = first + from;
        const Real* p[kDotRows];
        for (std::size_t i = 0; i < m; ++i) p[i] = w + (o + i) * layer.inputs;
        in_parts(batch, kTileColumns, [&](std::size_t b, std::size_t n) {
            dots<Real>(
                m, n, {p, in.rows.data() + b, layer.inputs, out.value + b * layer.outputs + o, static_cast<Step>(layer.outputs), bias + o});
        });
    });
}

/// The backward pass from dz = out.grad.
///
/// dx = W^T dz, unless dx is null. `weight` grows by scale * dz^T x, or becomes dz^T x if scale is
/// 0; `bias` likewise, with the sums of dz. `offset` says where rows of W start. Blocks of rows of
/// W stay in the second-level cache; each is used for dx before it changes. A part is some columns
/// of W or, without dx, some rows, those that its thread had forward.
template <typename Real>
void linear_backward(Part part, const Layer& layer, const Real* w, const Step* offset, const Activation<Real>& in,
                     const Activation<Real>& out, Real* dx, Real scale, Real* weight, Real* bias, std::size_t batch) {
    using Kind = Outer<Real>;
    const Real* const dz = out.grad;
    const Part whole{0, 1};
    const auto columns = static_cast<Step>(layer.inputs), outputs = static_cast<Step>(layer.outputs);
    const auto [left, right] = (dx != nullptr ? part : whole).of(layer.inputs, kTileColumns * kLanes<Real>);
    const auto [top, bottom] = (dx != nullptr ? whole : part).of(layer.outputs, kDotRows);
    const std::size_t block = std::max<std::size_t>(16, (std::size_t{256} << 10) / (layer.inputs * sizeof(Real)));
    for (std::size_t first = top; first < bottom && left < right; first += block) {
        const std::size_t rows = std::min(block, bottom - first);
        if (dx != nullptr) {
            Kind o{dz + first, outputs, 1, w + left, offset + first, rows, dx + left, columns};
            o.start = first == 0 ? Kind::Start::zero : Kind::Start::there;
            outer<Real>(batch, right - left, o);
        }
        Kind o{dz + first, 1, outputs, in.rows[0] + left, in.offset.data(), batch, weight + first * layer.inputs + left, columns};
        if (scale != 0) o.end = Kind::End::add_scaled, o.scale = scale;
        if (part.index == 0 && first == top) o.ahead = in.ahead;
        outer<Real>(rows, right - left, o);
    }
    if (part.index > 0) return;
    const Real one = 1;  // db = dz^T 1
    Kind sums{&one, 0, 0, dz, out.offset.data(), batch, bias, 0};
    if (scale != 0) sums.end = Kind::End::add_scaled, sums.scale = scale;
    outer<Real>(1, layer.outputs, sums);
}

/// Weight (outputs, inputs), bias (outputs).
template <typename Real>
class Linear final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{
        .name = "linear",
        .output = [](const Fit& fit) -> Shape {
            const Layer& layer = fit.layer;
            if (fit.in.image || fit.in.channels != layer.inputs || layer.outputs < 1)
                fit.refuse_shape("(" + std::to_string(layer.inputs) + ",)");
            return {layer.outputs};
        },
        .weights = [](const Layer& layer) { return static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs); },
        .traits = {.has_bias = true, .reads_rows = true, .keeps_input = true},
    };

    explicit Linear(const Place<Real>& place) : PlacedLayer<Real>(place) {
        for (std::size_t o = 0; o < place.stage.layer.outputs; ++o) offset_.push_back(static_cast<Step>(o * place.stage.layer.inputs));
    }

    void forward(const Real* weights, Words*) override {
        this->split(this->at.stage.weights * this->batch, [&](Part part) {
            linear_forward(part, this->layer(), weights + this->at.weight, weights + this->at.bias, this->at.in, this->at.out, this->batch);
        });
    }
    void backward(Real* weights, Real* gradient, Real scale) override {
        Real* const to = scale != 0 ? weights : gradient;
        this->split(this->at.stage.weights * this->batch, [&](Part part) {
            linear_backward(part, this->layer(), weights + this->at.weight, offset_.data(), this->at.in, this->at.out,
                            this->input_gradient(), scale, to + this->at.weight, to + this->at.bias, this->batch);
        });
    }

private:
    std::vector<Step> offset_;  // where rows of W start
};

}  // namespace
}  // namespace fedbench::train
