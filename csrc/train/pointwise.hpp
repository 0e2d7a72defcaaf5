// The layers relu and flatten, and conversions between the layouts of vectors and images.
#pragma once

#include <vector>

#include "layer.hpp"

namespace fedbench::train {
namespace {

/// Makes images (features, example) from rows of features.
template <typename Real>
void to_image(const Real* const* rows, std::size_t features, std::size_t batch, Real* image) {
    for (std::size_t f = 0; f < features; ++f)
        for (std::size_t b = 0; b < batch; ++b) image[f * batch + b] = rows[b][f];
}

template <typename Real>
void from_image(const Real* image, std::size_t features, std::size_t batch, Real* rows) {
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t f = 0; f < features; ++f) rows[b * features + f] = image[f * batch + b];
}

/// max(x, 0); NaN stays. The derivative is 0 where the result is 0; a NaN lets the gradient pass.
template <typename Real>
class ReLU final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{.name = "relu", .output = [](const Fit& fit) { return fit.in; }, .traits = {.in_place = true}};
    using PlacedLayer<Real>::PlacedLayer;

    void forward(const Real*, Words*) override {
        Real* const x = this->at.in.value;
        for (std::size_t i = 0, n = this->numbers(); i < n; ++i) x[i] = x[i] < 0 ? Real{0} : x[i];
    }
    void backward(Real*, Real*, Real) override {
        if (this->at.is_first) return;
        const Real* const y = this->at.in.value;
        Real* const grad = this->at.in.grad;
        for (std::size_t i = 0, n = this->numbers(); i < n; ++i) grad[i] = y[i] <= 0 ? Real{0} : grad[i];
    }
};

/// Turns an image into a vector. A vector stays where it is: a network leaves its flatten out.
template <typename Real>
class Flatten final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{.name = "flatten", .output = [](const Fit& fit) { return Shape{fit.in.size()}; }};

    explicit Flatten(const Place<Real>& place) : PlacedLayer<Real>(place), slopes_(place.largest) {}

    void forward(const Real*, Words*) override { from_image(this->at.in.value, this->at.stage.in.size(), this->batch, this->at.out.value); }
    void backward(Real*, Real*, Real) override {
        if (this->at.is_first) return;
        const std::size_t size = this->at.stage.in.size();
        for (std::size_t b = 0; b < this->batch; ++b) slopes_[b] = this->at.out.grad + b * size;
        to_image(slopes_.data(), size, this->batch, this->at.in.grad);
    }

private:
    std::vector<const Real*> slopes_;  // of examples
};

}  // namespace
}  // namespace fedbench::train
