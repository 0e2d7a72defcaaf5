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
                    V<Real> best = load(window + b, rest), which{}, place_of_x{};
                    for (std::size_t kh = 0; kh < k; ++kh)
                        for (std::size_t kw = 0; kw < k; ++kw, place_of_x += all(Real{1})) {
                            const V<Real> x = load(window + (kh * width + kw) * batch + b, rest);
                            const auto wins = (x > best) | (x != x);
                            best = wins ? x : best;
                            which = wins ? place_of_x : which;
                        }
                    store(out + at + b, best, rest);
                    store(place + at + b, which, rest);
                }
            }
}

/// The gradient of an output goes to the element that was its maximum.
template <typename Real>
void max_pool_gradient(const Stage& stage, const Real* out_grad, const Real* place, std::size_t batch, Real* in_grad) {
    const std::size_t k = stage.layer.kernel, width = stage.in.width, lanes = kLanes<Real>;
    if (stage.in.height % k != 0 || width % k != 0) std::memset(in_grad, 0, stage.in.size() * batch * sizeof(Real));
    for (std::size_t c = 0; c < stage.in.channels; ++c)
        for (std::size_t h = 0; h < stage.out.height; ++h)
            for (std::size_t w = 0; w < stage.out.width; ++w) {
                Real* const window = in_grad + ((c * stage.in.height + h * k) * width + w * k) * batch;
                const std::size_t at = ((c * stage.out.height + h) * stage.out.width + w) * batch;
                for (std::size_t b = 0; b < batch; b += lanes) {
                    const Lanes rest(std::min(lanes, batch - b));
                    const V<Real> g = load(out_grad + at + b, rest), which = load(place + at + b, rest);
                    V<Real> place_of_x{};
                    for (std::size_t kh = 0; kh < k; ++kh)
                        for (std::size_t kw = 0; kw < k; ++kw, place_of_x += all(Real{1}))
                            store(window + (kh * width + kw) * batch + b, which == place_of_x ? g : V<Real>{}, rest);
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

/// The words of a stream, many at a time: fedbench::Stream hands out the same ones.
class Words {
public:
    Words(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::uint64_t skip = 0)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          k_(k),
          client_(client),
          purpose_(static_cast<std::uint32_t>(purpose)),
          next_(skip) {}

    std::uint32_t operator()() {
        if (next_ < begin_ || next_ >= begin_ + kWords) draw(next_ / kWords * kWords);
        return word_[next_++ - begin_];
    }

private:
    static constexpr std::size_t kBlocks = 16, kWords = 4 * kBlocks;

    /// Sixteen blocks of philox4x32, side by side.
    void draw(std::uint64_t begin) {
        std::uint32_t a[kBlocks], b[kBlocks], c[kBlocks], d[kBlocks], key[2] = {key_[0], key_[1]};
        for (std::size_t j = 0; j < kBlocks; ++j)
            a[j] = static_cast<std::uint32_t>(begin / 4 + j), b[j] = k_, c[j] = client_, d[j] = purpose_;
        for (int round = 0; round < kPhiloxRounds; ++round) {
            for (std::size_t j = 0; j < kBlocks; ++j) {
                const std::uint64_t x = std::uint64_t{kPhiloxMultiplier[0]} * a[j], y = std::uint64_t{kPhiloxMultiplier[1]} * c[j];
                a[j] = static_cast<std::uint32_t>(y >> 32) ^ b[j] ^ key[0], b[j] = static_cast<std::uint32_t>(y);
                c[j] = static_cast<std::uint32_t>(x >> 32) ^ d[j] ^ key[1], d[j] = static_cast<std::uint32_t>(x);
            }
            key[0] += kPhiloxWeyl[0], key[1] += kPhiloxWeyl[1];
        }
        for (std::size_t j = 0; j < kBlocks; ++j)
            word_[4 * j] = a[j], word_[4 * j + 1] = b[j], word_[4 * j + 2] = c[j], word_[4 * j + 3] = d[j];
        begin_ = begin;
    }

    std::uint32_t key_[2], k_, client_, purpose_;
    std::uint64_t next_, begin_ = ~std::uint64_t{0} - kWords;
    std::uint32_t word_[kWords];
};

/// Dropout factors 0 or 1 / (1 - p), one word each, in the order of (example, element): torch_model.py states it. Factors of images
/// are laid out as (element, example), those of vectors as (example, element).
template <typename Real>
void draw_masks(const Stage& stage, Words& word, std::size_t batch, Real* mask) {
    const std::size_t elements = stage.layer.kind == LayerKind::dropout2d ? stage.in.channels : stage.in.size();
    const auto least = static_cast<std::uint64_t>(std::ceil(stage.layer.p * 0x1p32));  // a word is kept if it is >= p 2^32
    const Real kept = static_cast<Real>(1 / (1 - stage.layer.p));
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t e = 0; e < elements; ++e)
            mask[stage.in.image ? e * batch + b : b * elements + e] = word() >= least ? kept : Real{0};
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

/// `fixed` classes, or `classes` if that is 0: short loops of known length have no overhead.
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

/// Gradient of the mean cross-entropy with respect to the logits z: (softmax - one at the label) / batch.
template <typename Real>
void cross_entropy_gradient(const Real* z, Real* grad, const std::int64_t* label, std::size_t classes, std::size_t batch) {
    if (classes == 2) return cross_entropy_rows<2>(z, grad, label, classes, batch);
    if (classes == 10) return cross_entropy_rows<10>(z, grad, label, classes, batch);
    cross_entropy_rows<0>(z, grad, label, classes, batch);
}

}  // namespace
}  // namespace fedbench::train
