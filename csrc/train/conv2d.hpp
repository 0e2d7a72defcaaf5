// The layer conv2d, with the max-pool behind it, if there is one.
#pragma once

#include "conv.hpp"
#include "layer.hpp"

namespace fedbench::train {
namespace {

/// Weight (outputs, inputs, kernel, kernel), bias (outputs).
template <typename Real>
class Conv2d final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{
        .name = "conv2d",
        .output = [](const Fit& fit) -> Shape {
            fit.needs_image();
            const Layer& layer = fit.layer;
            if (fit.in.channels != layer.inputs || layer.outputs < 1) fit.refuse_shape(std::to_string(layer.inputs) + " channels");
            return {layer.outputs, fit.windows(fit.in.height + 2 * layer.padding, layer.stride),
                    fit.windows(fit.in.width + 2 * layer.padding, layer.stride), true};
        },
        .weights =
            [](const Layer& layer) {
                const auto kernel = static_cast<double>(layer.kernel);
                return static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs) * kernel * kernel;
            },
        .traits = {.has_bias = true, .keeps_input = true},
    };

    explicit Conv2d(const Place<Real>& place)
        : PlacedLayer<Real>(place), convolution_(place.stage, place.pool, !place.is_first, place.largest, place.threads) {}

    void bind(std::size_t examples) override { convolution_.set_batch(examples); }
    void forward(const Real* weights, Words*) override {
        convolution_.forward(this->at.helpers, weights + this->at.weight, weights + this->at.bias, this->at.in.value, this->at.out.value);
    }
    void backward(Real* weights, Real* gradient, Real scale) override {
        Real *const weight = gradient + this->at.weight, *const bias = gradient + this->at.bias;
        convolution_.backward(this->at.helpers, weights + this->at.weight, this->at.in.value, this->at.out.grad, weight, bias,
                              this->input_gradient());
        if (scale == 0) return;
        add_scaled(scale, weight, this->at.stage.weights, weights + this->at.weight);
        add_scaled(scale, bias, this->layer().outputs, weights + this->at.bias);
    }

private:
    Convolution<Real> convolution_;
};

}  // namespace
}  // namespace fedbench::train
