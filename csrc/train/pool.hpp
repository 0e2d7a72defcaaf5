// Max-pooling of images (channels, height, width, example), windows side by side.
#pragma once

#include "layer.hpp"

namespace fedbench::train {
namespace {

/// `height` x `width` windows in each of `channels` planes.
struct Windows {
    std::size_t channels, height, width, size, batch;
    std::size_t in_row, in_plane, out_plane;  // from one to the next; rows of results follow each other

    bool cover() const { return width * size * batch == in_row && height * size * in_row == in_plane; }
};

inline Windows windows_of(const Stage& stage, std::size_t batch) {
    const std::size_t in_row = stage.in.width * batch, out_plane = stage.out.height * stage.out.width * batch;
    return {stage.in.channels, stage.out.height, stage.out.width, stage.layer.kernel, batch, in_row, stage.in.height * in_row, out_plane};
}

/// Calls body(place of a window of k x k, place of its result, examples) for all windows, a
/// register of examples at a time.
template <typename Real, typename Body>
[[gnu::always_inline]] inline void for_windows(const Windows& of, std::size_t k, const Body& body) {
    constexpr std::size_t lanes = kLanes<Real>;
    const Lanes all(lanes), rest(of.batch % lanes > 0 ? of.batch % lanes : lanes);
    for (std::size_t c = 0; c < of.channels; ++c)
        for (std::size_t h = 0; h < of.height; ++h)
            for (std::size_t w = 0; w < of.width; ++w) {
                const std::size_t from = c * of.in_plane + h * k * of.in_row + w * k * of.batch;
                const std::size_t to = c * of.out_plane + (h * of.width + w) * of.batch;
                std::size_t b = 0;
                for (; b + lanes < of.batch; b += lanes) body(from + b, to + b, all);
                body(from + b, to + b, rest);
            }
}

/// Computes maxima and their places, and returns whether there was a NaN. A NaN is ignored unless
/// `mind_nan` is set, which takes twice as long. `fixed` is the windows' size, or 0 for any size:
/// loops of known length have no overhead. `of` is a copy, which no store can change.
template <std::size_t fixed, bool mind_nan, typename Real>
bool maximum_of(const Windows of, const Real* in, Real* out, Real* place) {
    const std::size_t k = fixed > 0 ? fixed : of.size;
    V<Real> nan{};
    for_windows<Real>(of, k, [&](std::size_t from, std::size_t to, Lanes examples) {
        V<Real> best = load(in + from, examples), which{}, here{};
#pragma GCC unroll 2
        for (std::size_t kh = 0; kh < k; ++kh)
#pragma GCC unroll 2
            for (std::size_t kw = 0; kw < k; ++kw, here += all(Real{1})) {
                const V<Real> x = load(in + from + kh * of.in_row + kw * of.batch, examples);
                nan = x == x ? nan : all(Real{1});
                which = x > best ? here : which, best = x > best ? x : best;
                if constexpr (mind_nan) which = x == x ? which : here, best = x == x ? best : x;
            }
        store(out + to, best, examples);
        store(place + to, which, examples);
    });
    return sum_of(half_of(nan, 0)) + sum_of(half_of(nan, kPairs - 1)) != 0;
}

template <std::size_t fixed, typename Real>
void gradient_of(const Windows of, const Real* out_grad, const Real* place, Real* in_grad) {
    const std::size_t k = fixed > 0 ? fixed : of.size;
    for_windows<Real>(of, k, [&](std::size_t from, std::size_t to, Lanes examples) {
        const V<Real> g = load(out_grad + to, examples), which = load(place + to, examples);
        V<Real> here{};
#pragma GCC unroll 2
        for (std::size_t kh = 0; kh < k; ++kh)
#pragma GCC unroll 2
            for (std::size_t kw = 0; kw < k; ++kw, here += all(Real{1}))
                store(in_grad + from + kh * of.in_row + kw * of.batch, which == here ? g : V<Real>{}, examples);
    });
}

/// Computes the maximum over windows, and in `place` which element of its window it is: the first
/// of equals; a NaN wins.
template <typename Real>
void max_pool(const Windows& of, const Real* in, Real* out, Real* place) {
    const bool two = of.size == 2;
    if (two ? maximum_of<2, false>(of, in, out, place) : maximum_of<0, false>(of, in, out, place)) maximum_of<0, true>(of, in, out, place);
}

/// Gives the gradient of an output to the element that was its maximum, and 0 to all others, also
/// to those that are in no window.
template <typename Real>
void max_pool_gradient(const Windows& of, const Real* out_grad, const Real* place, Real* in_grad) {
    if (!of.cover()) std::memset(in_grad, 0, of.channels * of.in_plane * sizeof(Real));
    of.size == 2 ? gradient_of<2>(of, out_grad, place, in_grad) : gradient_of<0>(of, out_grad, place, in_grad);
}

/// The layer max_pool2d where it does not follow a convolution; a convolution does its own pooling,
/// faster.
template <typename Real>
class MaxPool2d final : public PlacedLayer<Real> {
public:
    static constexpr LayerKind kind{.name = "max_pool2d", .output = [](const Fit& fit) -> Shape {
                                        fit.needs_image();
                                        const std::size_t k = fit.layer.kernel;
                                        return {fit.in.channels, fit.windows(fit.in.height, k), fit.windows(fit.in.width, k), true};
                                    }};

    explicit MaxPool2d(const Place<Real>& place) : PlacedLayer<Real>(place), place_(place.stage.out.size() * place.largest) {}

    void forward(const Real*, Words*) override {
        max_pool(windows_of(this->at.stage, this->batch), this->at.in.value, this->at.out.value, place_.data());
    }
    void backward(Real*, Real*, Real) override {
        if (!this->at.is_first)
            max_pool_gradient(windows_of(this->at.stage, this->batch), this->at.out.grad, place_.data(), this->at.in.grad);
    }

private:
    Buffer<Real> place_;
};

}  // namespace
}  // namespace fedbench::train
