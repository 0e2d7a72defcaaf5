// Layers without parameters, the loss, and the ways between layouts.
#pragma once

#include <algorithm>
#include <cmath>

#include "../distill/elementary.hpp"
#include "activations.hpp"
#include "fedbench/philox.hpp"

namespace fedbench::train {
namespace {

/// Images (features, example) from rows of features.
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

/// Maximum over windows, and in `place` which element of its window it was: the first of equals; a NaN wins.
template <typename Real>
void max_pool(const Stage& stage, const Real* in, std::size_t batch, Real* out, Real* place) {
    const std::size_t k = stage.layer.kernel, width = stage.in.width, lanes = kLanes<Real>;
    for (std::size_t c = 0; c < stage.in.channels; ++c)
        for (std::size_t h = 0; h < stage.out.height; ++h)
            for (std::size_t w = 0; w < stage.out.width; ++w) {
                const Real* const window = in + ((c * stage.in.height + h * k) * width + w * k) * batch;
                const std::size_t at = ((c * stage.out.height + h) * stage.out.width + w) * batch;
                for (std::size_t b = 0; b < batch; b += lanes) {
                    const Lanes rest(std::min(lanes, batch - b));
                    V<Real> best = load(window + b, rest), which{};
                    for (std::size_t i = 1; i < k * k; ++i) {
                        const V<Real> x = load(window + ((i / k) * width + i % k) * batch + b, rest);
                        const auto wins = (x > best) | (x != x);
                        best = wins ? x : best;
                        which = wins ? all(static_cast<Real>(i)) : which;
                    }
                    store(out + at + b, best, rest);
                    store(place + at + b, which, rest);
                }
            }
}

/// The gradient of an output goes to the element that was its maximum.
template <typename Real>
void max_pool_gradient(const Stage& stage, const Real* dout, const Real* place, std::size_t batch, Real* din) {
    const std::size_t k = stage.layer.kernel, width = stage.in.width, lanes = kLanes<Real>;
    if (stage.in.height % k != 0 || width % k != 0) std::memset(din, 0, stage.in.size() * batch * sizeof(Real));
    for (std::size_t c = 0; c < stage.in.channels; ++c)
        for (std::size_t h = 0; h < stage.out.height; ++h)
            for (std::size_t w = 0; w < stage.out.width; ++w) {
                Real* const window = din + ((c * stage.in.height + h * k) * width + w * k) * batch;
                const std::size_t at = ((c * stage.out.height + h) * stage.out.width + w) * batch;
                for (std::size_t b = 0; b < batch; b += lanes) {
                    const Lanes rest(std::min(lanes, batch - b));
                    const V<Real> g = load(dout + at + b, rest), which = load(place + at + b, rest);
                    for (std::size_t i = 0; i < k * k; ++i)
                        store(window + ((i / k) * width + i % k) * batch + b, which == all(static_cast<Real>(i)) ? g : V<Real>{}, rest);
                }
            }
}

/// max(x, 0) in place; NaN stays.
template <typename Real>
void relu(Real* x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? Real{0} : x[i];
}

/// The derivative is 0 where the result is 0; a NaN lets the gradient pass.
template <typename Real>
void relu_gradient(const Real* y, Real* grad, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) grad[i] = y[i] <= 0 ? Real{0} : grad[i];
}

/// Dropout factors 0 or 1 / (1 - p), one word each, in the order of (example, element): torch_model.py states it. Factors of images
/// are laid out as (element, example), those of vectors as (example, element).
template <typename Real>
void draw_masks(const Stage& stage, Stream& stream, std::size_t batch, Real* mask) {
    const std::size_t elements = stage.layer.kind == LayerKind::dropout2d ? stage.in.channels : stage.in.size();
    const auto least = static_cast<std::uint64_t>(std::ceil(stage.layer.p * 0x1p32));  // a word is kept if it is >= p 2^32
    const Real kept = static_cast<Real>(1 / (1 - stage.layer.p));
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t e = 0; e < elements; ++e)
            mask[stage.in.image ? e * batch + b : b * elements + e] = stream.word() >= least ? kept : Real{0};
}

template <typename Real>
void apply_masks(const Stage& stage, const Real* mask, std::size_t batch, Real* x) {
    if (stage.layer.kind == LayerKind::dropout) {
        for (std::size_t i = 0; i < stage.in.size() * batch; ++i) x[i] *= mask[i];
        return;
    }
    for (std::size_t c = 0; c < stage.in.channels; ++c)
        for (std::size_t i = 0; i < stage.in.height * stage.in.width; ++i, x += batch)
            for (std::size_t b = 0; b < batch; ++b) x[b] *= mask[c * batch + b];
}

/// Gradient of the mean cross-entropy with respect to the logits z: (softmax - one at the label) / batch.
template <typename Real>
void cross_entropy_gradient(const Real* z, Real* grad, const std::int64_t* label, std::size_t classes, std::size_t batch) {
    for (std::size_t b = 0; b < batch; ++b) {
        const Real* const row = z + b * classes;
        Real peak = row[0];
        for (std::size_t c = 1; c < classes; ++c) peak = row[c] > peak ? row[c] : peak;
        for (std::size_t c = 0; c < classes; ++c) grad[b * classes + c] = row[c] - peak;
    }
    for (std::size_t i = 0; i < batch * classes; ++i) grad[i] = distillation::exp_negative(grad[i]);
    const Real scale = Real{1} / static_cast<Real>(batch);
    for (std::size_t b = 0; b < batch; ++b) {
        Real* const row = grad + b * classes;
        Real sum = 0;
        for (std::size_t c = 0; c < classes; ++c) sum += row[c];
        const Real factor = scale / sum;
        for (std::size_t c = 0; c < classes; ++c) row[c] *= factor;
        row[label[b]] -= scale;
    }
}

}  // namespace
}  // namespace fedbench::train
