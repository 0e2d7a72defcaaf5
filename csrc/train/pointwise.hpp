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

/// The words of a stream, many at a time: fedbench::RandomStream hands out the same ones.
class Words {
public:
    Words(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::uint64_t skip = 0)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          k_(k),
          client_(client),
          purpose_(static_cast<std::uint32_t>(purpose)),
          next_(skip) {}

    /// The next words, at least one and at most `wanted`; valid until the next call.
    std::span<const std::uint32_t> next(std::size_t wanted) {
        if (next_ < begin_ || next_ >= begin_ + kWords) draw(next_ / kWords * kWords);
        const std::size_t at = next_ - begin_, count = std::min(wanted, kWords - at);
        next_ += count;
        return {word_ + at, count};
    }

private:
    static constexpr std::size_t kBlocks = 16, kWords = 4 * kBlocks;

    typedef std::uint64_t Halves __attribute__((vector_size(kBytes)));  // numbers below 2^32

    /// Sixteen blocks of philox4x32, side by side.
    void draw(std::uint64_t begin) {
        constexpr std::size_t lanes = kBytes / sizeof(std::uint64_t), n = kBlocks / lanes;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        Halves a[n] = {}, b[n], c[n], d[n];
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < lanes; ++i) a[j][i] = (begin / 4 + j * lanes + i) & low;
            b[j] = Halves{} + k_, c[j] = Halves{} + client_, d[j] = Halves{} + purpose_;
        }
        std::uint32_t key[2] = {key_[0], key_[1]};
        for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma GCC unroll 8
            for (std::size_t j = 0; j < n; ++j) {
                const Halves x = a[j] * kPhiloxMultiplier[0], y = c[j] * kPhiloxMultiplier[1];
                a[j] = y >> 32 ^ b[j] ^ key[0], b[j] = y & low;
                c[j] = x >> 32 ^ d[j] ^ key[1], d[j] = x & low;
            }
            key[0] += kPhiloxWeyl[0], key[1] += kPhiloxWeyl[1];
        }
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t i = 0; i < lanes; ++i) {
                std::uint32_t* const block = word_ + 4 * (j * lanes + i);
                block[0] = static_cast<std::uint32_t>(a[j][i]), block[1] = static_cast<std::uint32_t>(b[j][i]);
                block[2] = static_cast<std::uint32_t>(c[j][i]), block[3] = static_cast<std::uint32_t>(d[j][i]);
            }
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
    const std::size_t of_example = stage.in.image ? 1 : elements, of_element = stage.in.image ? batch : 1;
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t e = 0; e < elements;) {
            Real* const to = mask + b * of_example + e * of_element;
            const std::span<const std::uint32_t> words = word.next(elements - e);
            for (std::size_t i = 0; i < words.size(); ++i) to[i * of_element] = words[i] >= least ? kept : Real{0};
            e += words.size();
        }
}

template <typename Real>
void apply_masks(const Stage& stage, const Real* mask, std::size_t batch, Real* x) {
    if (stage.layer.kind == LayerKind::dropout) {
        for (std::size_t i = 0; i < stage.in.size() * batch; ++i) x[i] *= mask[i];
        return;
    }
    constexpr std::size_t lanes = kLanes<Real>;
    const std::size_t plane = stage.in.height * stage.in.width * batch;
    for (std::size_t c = 0; c < stage.in.channels; ++c, x += plane, mask += batch)
        for (std::size_t b = 0; b < batch; b += lanes) {
            const Lanes examples(std::min(lanes, batch - b));
            const V<Real> factor = load(mask + b, examples);
            for (std::size_t i = b; i < plane; i += batch) store(x + i, load(x + i, examples) * factor, examples);
        }
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
