// The gradient of the loss with respect to the logits.
#pragma once

#include <cstdint>

#include "../distill/elementary.hpp"

namespace fedbench::train {
namespace {

/// Has `fixed` classes, or `classes` if `fixed` is 0: short loops of known length have no overhead.
template <std::size_t fixed, typename Real>
void cross_entropy_rows(const Real* z, Real* grad, const std::int64_t* label, std::size_t classes, std::size_t batch) {
    const std::size_t count = fixed > 0 ? fixed : classes;
    for (std::size_t b = 0; b < batch; ++b) {
        const Real* const row = z + b * count;
        Real peak = row[0];
        for (std::size_t c = 1; c < count; ++c) peak = row[c] > peak ? row[c] : peak;
        for (std::size_t c = 0; c < count; ++c) grad[b * count + c] = row[c] - peak;
    }
    for (std::size_t i = 0; i < batch * count; ++i) grad[i] = distillation::exp_negative(grad[i]);
    const Real scale = Real{1} / static_cast<Real>(batch);
    for (std::size_t b = 0; b < batch; ++b) {
        Real* const row = grad + b * count;
        Real sum = 0;
        for (std::size_t c = 0; c < count; ++c) sum += row[c];
        const Real factor = scale / sum;
        for (std::size_t c = 0; c < count; ++c) row[c] *= factor;
        row[label[b]] -= scale;
    }
}

/// Computes the gradient of the mean cross-entropy with respect to the logits z: (softmax - one at
/// the label) / batch.
template <typename Real>
void cross_entropy_gradient(const Real* z, Real* grad, const std::int64_t* label, std::size_t classes, std::size_t batch) {
    if (classes == 2) return cross_entropy_rows<2>(z, grad, label, classes, batch);
    if (classes == 10) return cross_entropy_rows<10>(z, grad, label, classes, batch);
    cross_entropy_rows<0>(z, grad, label, classes, batch);
}

}  // namespace
}  // namespace fedbench::train
