// Layers that set elements or channels to 0 in training, and scale the others.
#pragma once

#include <algorithm>
#include <cmath>

#include "layer.hpp"

namespace fedbench::train {
namespace {

/// Factors 0 or 1 / (1 - p), one word each, in the order of (example, element): torch_model.py
/// states it. Factors of images are laid out as (element, example), those of vectors as (example,
/// element).
template <typename Real>
void draw_masks(const Stage& stage, std::size_t elements, Words& word, std::size_t batch, Real* mask) {
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

inline Shape dropped(const Fit& fit) {
    if (!(fit.layer.p >= 0 && fit.layer.p < 1)) fit.refuse("p must be in [0, 1), got " + std::to_string(fit.layer.p));
    return fit.in;
}

/// Every element has a factor of its own.
template <typename Real>
class Dropout : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{.name = "dropout", .output = dropped, .traits = {.in_place = true}};

    explicit Dropout(const Place<Real>& place) : Dropout(place, place.stage.in.size()) {}

    std::size_t words() const override { return words_; }
    void forward(const Real*, Words* masks) override {
        is_masked_ = masks != nullptr;
        if (!is_masked_) return;
        draw_masks(this->at.stage, words_, *masks, this->batch, mask_.data());
        apply(mask_.data(), this->at.in.value);
    }
    void backward(Real*, Real*, Real) override {
        if (is_masked_ && !this->at.is_first) apply(mask_.data(), this->at.in.grad);
    }

protected:
    Dropout(const Place<Real>& place, std::size_t words) : PlacedLayer<Real>(place), words_(words), mask_(words * place.largest) {}

    virtual void apply(const Real* mask, Real* x) const {
        for (std::size_t i = 0; i < this->numbers(); ++i) x[i] *= mask[i];
    }

private:
    std::size_t words_;
    Buffer<Real> mask_;
    bool is_masked_ = false;
};

/// Every channel of an image has one factor.
template <typename Real>
class Dropout2d final : public Dropout<Real> {
public:
    static constexpr LayerKind kind{.name = "dropout2d",
                                    .output =
                                        [](const Fit& fit) {
                                            fit.needs_image();
                                            return dropped(fit);
                                        },
                                    .traits = {.in_place = true}};

    explicit Dropout2d(const Place<Real>& place) : Dropout<Real>(place, place.stage.in.channels) {}

private:
    void apply(const Real* mask, Real* x) const override {
        constexpr std::size_t lanes = kLanes<Real>;
        const Shape& shape = this->at.stage.in;
        const std::size_t batch = this->batch, plane = shape.height * shape.width * batch;
        for (std::size_t c = 0; c < shape.channels; ++c, x += plane, mask += batch)
            for (std::size_t b = 0; b < batch; b += lanes) {
                const Lanes examples(std::min(lanes, batch - b));
                const V<Real> factor = load(mask + b, examples);
                for (std::size_t i = b; i < plane; i += batch) store(x + i, load(x + i, examples) * factor, examples);
            }
    }
};

}  // namespace
}  // namespace fedbench::train
