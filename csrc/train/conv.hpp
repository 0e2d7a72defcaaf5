// A layer on images (channels, height, width, example), stride and zero padding allowed. No patches are copied: a window's column
// is a shift of a contiguous row. A max-pool that follows belongs to it: the large image between the two is never whole.
#pragma once

#include <algorithm>

#include "pool.hpp"

namespace fedbench::train {
namespace {

/// One convolution's tables and scratch for the current batch size. `pool` is the max-pool that follows, if one does; `backward`: will its
/// input's gradient be wanted?
template <typename Real>
class Convolution {
public:
    Convolution() = default;
    Convolution(const Stage& stage, const Stage* pool, bool backward, std::size_t largest)
        : layer_(stage.layer),
          in_(stage.in),
          out_(stage.out),
          height_(in_.height + 2 * layer_.padding),
          width_(in_.width + 2 * layer_.padding),
          turned_(stage.weight_size()),
          into_(layer_.inputs * layer_.kernel * layer_.kernel),
          from_(layer_.kernel * layer_.outputs) {
        if (pool != nullptr) {
            pool_ = *pool;
            place_ = Buffer<Real>(pool_.out.size() * largest);
            wide_ = Buffer<Real>((backward ? out_.channels : kDotRows) * out_.height * out_.width * largest);
            widens_all_ = backward;
        }
        if (layer_.padding == 0) return;
        padded_ = Buffer<Real>(in_.channels * height_ * width_ * largest);
        padded_grad_ = Buffer<Real>(padded_.size());
    }

    void set_batch(std::size_t batch) {
        batch_ = batch;
        const std::size_t k = layer_.kernel;
        Step* entry = into_.data();
        for (std::size_t c = 0; c < layer_.inputs; ++c)
            for (std::size_t kh = 0; kh < k; ++kh)
                for (std::size_t kw = 0; kw < k; ++kw) *entry++ = static_cast<Step>(((c * height_ + kh) * width_ + kw) * batch);
        entry = from_.data();
        for_window_rows([&](std::size_t, std::size_t up) {
            for (std::size_t o = 0; o < layer_.outputs; ++o)
                *entry++ = (static_cast<Step>(o * out_.height) - static_cast<Step>(up)) * static_cast<Step>(out_.width * batch);
        });
        padded_.clear();
    }

    void forward(const Real* w, const Real* bias, const Real* in, Real* out) {
        in = with_border(in);
        const std::size_t row = out_.width * batch_;
        if (!is_pooled()) {
            for (std::size_t oh = 0; oh < out_.height; ++oh)
                forward_row(w, bias, in, oh, 0, layer_.outputs, out + oh * row, out_.height * row);
            return;
        }
        // A row of windows at a time, of so many channels that what is between stays in the first-level cache.
        const std::size_t k = pool_.layer.kernel;
        Windows windows = windows_of(pool_, batch_);
        windows.height = 1, windows.in_plane = k * row;
        for (std::size_t h = 0; h < pool_.out.height; ++h)
            in_parts(layer_.outputs, kTileRows, [&](std::size_t o, std::size_t m) {
                for (std::size_t r = 0; r < k; ++r) forward_row(w, bias, in, h * k + r, o, m, wide_.data() + r * row, k * row);
                windows.channels = m;
                const std::size_t to = o * windows.out_plane + h * windows.width * batch_;
                max_pool(windows, wide_.data(), out + to, place_.data() + to);
            });
    }

    /// dW into `weight` and db into `bias`; `in` is what `forward` got. After input_gradient, if that is called.
    void weight_gradient(const Real* in, const Real* out_grad, Real* weight, Real* bias) {
        if (layer_.padding > 0) in = padded_.data();
        const std::size_t row = out_.width * batch_, plane = out_.height * row;
        if (!is_pooled() || widens_all_) {
            const Real* const grad = is_pooled() ? wide_.data() : out_grad;
            in_parts(layer_.outputs, kDotRows,
                     [&](std::size_t o, std::size_t m) { add_products(o, m, 0, out_.height, grad + o * plane, plane, in, weight); });
        } else {
            // Rows of so many windows that the gradients of five channels stay in the first-level cache, whatever the registers: a sum is
            // cut there.
            const std::size_t k = pool_.layer.kernel, fit = (std::size_t{24} << 10) / (5 * k * row * sizeof(Real));
            Windows windows = windows_of(pool_, batch_);
            in_parts(layer_.outputs, kDotRows, [&](std::size_t o, std::size_t m) {
                in_parts(pool_.out.height, std::max<std::size_t>(1, fit), [&](std::size_t h, std::size_t n) {
                    windows.channels = m, windows.height = n, windows.in_plane = n * k * row;
                    widen(windows, o * windows.out_plane + h * windows.width * batch_, out_grad);
                    add_products(o, m, h * k, n * k, wide_.data(), windows.in_plane, in, weight);
                });
            });
        }
        const std::size_t part = is_pooled() ? pool_.out.height * pool_.out.width * batch_ : plane;
        for (std::size_t o = 0; o < layer_.outputs; ++o) bias[o] = sum_along(out_grad + o * part, part);
    }

    /// in_grad = what every output says about the inputs it saw.
    void input_gradient(const Real* w, const Real* out_grad, Real* in_grad) {
        if (is_pooled()) {
            widen(windows_of(pool_, batch_), 0, out_grad);
            out_grad = wide_.data();
        }
        turn(w);
        Real* const to = layer_.padding > 0 ? padded_grad_.data() : in_grad;
        std::memset(to, 0, layer_.inputs * height_ * width_ * batch_ * sizeof(Real));
        const std::size_t k = layer_.kernel, s = layer_.stride, window_row = layer_.outputs * layer_.inputs;
        const std::size_t plane = height_ * width_ * batch_;
        for (std::size_t ih = 0; ih < height_; ++ih) {
            // Window rows kh with ih = oh s + kh: kh = phase + s t, oh = top - t.
            const std::size_t phase = ih % s, top = ih / s;
            if (phase >= k) continue;
            const std::size_t in_phase = (k - phase + s - 1) / s;
            const std::size_t first = top >= out_.height ? top - out_.height + 1 : 0, last = std::min(in_phase, top + 1);
            if (first >= last) continue;
            const std::size_t at = rows_before(phase) + first, rows = (last - first) * layer_.outputs;
            for_stretches([&](std::size_t from, std::size_t there, std::size_t length) {
                Outer<Real> t{nullptr,
                              1,
                              static_cast<Step>(layer_.inputs),
                              out_grad + top * out_.width * batch_ + from,
                              from_.data() + at * layer_.outputs,
                              rows,
                              nullptr,
                              static_cast<Step>(plane)};
                t.start = Outer<Real>::Start::there;
                in_blocks(rows, length, [&](std::size_t i, std::size_t count, std::size_t column, std::size_t columns) {
                    for (std::size_t kw = 0; kw < k; ++kw) {
                        t.factor = turned_.data() + (kw * k + at) * window_row;
                        t.result = to + (ih * width_ + kw) * batch_ + there;
                        in_columns<Real>(columns, [&](Columns part) {
                            part.begin += column;
                            outer_part<Real>(layer_.inputs, part, t, i, count);
                        });
                    }
                });
            });
        }
        if (layer_.padding > 0) without_border(in_grad);
    }

private:
    /// body(i, rows, column, columns) for blocks that stay in the first-level cache. An input's gradient adds block by block, and in a
    /// block by kw, so their sizes are the same for all registers.
    template <typename Body>
    static void in_blocks(std::size_t rows, std::size_t columns, const Body& body) {
        constexpr std::size_t unit = 64 / sizeof(Real), most_rows = 96, most_units = 5;
        in_parts((columns + unit - 1) / unit, most_units, [&](std::size_t first, std::size_t n) {
            const std::size_t column = first * unit, count = std::min(n * unit, columns - column);
            in_parts(rows, most_rows, [&](std::size_t i, std::size_t part) { body(i, part, column, count); });
        });
    }

    bool is_pooled() const { return pool_.layer.kernel > 0; }

    /// Row oh of output channels o to o + m, the first of them to `out`.
    void forward_row(const Real* w, const Real* bias, const Real* in, std::size_t oh, std::size_t o, std::size_t m, Real* out,
                     std::size_t plane) const {
        const std::size_t window = layer_.inputs * layer_.kernel * layer_.kernel;
        for_stretches([&](std::size_t to, std::size_t from, std::size_t length) {
            Outer<Real> t{
                w + o * window, static_cast<Step>(window), 1, in + oh * layer_.stride * width_ * batch_ + from, into_.data(), window,
                out + to,       static_cast<Step>(plane)};
            t.start = Outer<Real>::Start::value, t.value = bias + o;
            outer<Real>(m, length, t);
        });
    }

    /// dW of output channels o to o + m: puts there, or if `first` > 0 adds, what rows from `first` on say. `grad` has only those.
    void add_products(std::size_t o, std::size_t m, std::size_t first, std::size_t rows, const Real* grad, std::size_t plane,
                      const Real* in, Real* weight) const {
        const std::size_t k = layer_.kernel, row = out_.width * batch_;
        const Real* p[kDotRows];
        for (std::size_t i = 0; i < m; ++i) p[i] = grad + i * plane;
        for (std::size_t c = 0; c < layer_.inputs; ++c)
            for (std::size_t kh = 0; kh < k; ++kh)
                in_parts(k, kTileColumns, [&](std::size_t kw, std::size_t n) {
                    const Real* q[kTileColumns];
                    for (std::size_t i = 0; i < n; ++i) q[i] = in + ((c * height_ + kh + first * layer_.stride) * width_ + kw + i) * batch_;
                    Dots<Real> d{p, q, layer_.stride == 1 ? row : batch_};
                    d.each = layer_.stride == 1 ? 1 : out_.width;
                    d.p_step = static_cast<Step>(batch_), d.q_step = static_cast<Step>(layer_.stride * batch_);
                    d.rows = rows;
                    d.p_row = static_cast<Step>(row), d.q_row = static_cast<Step>(layer_.stride * width_ * batch_);
                    d.result = weight + ((o * layer_.inputs + c) * k + kh) * k + kw;
                    d.result_m = static_cast<Step>(layer_.inputs * k * k), d.result_n = 1;
                    d.add = first > 0;
                    dots<Real>(m, n, d);
                });
    }

    /// The convolution's own gradient into wide_, from that of windows, the first of which is number `at`.
    void widen(const Windows& windows, std::size_t at, const Real* out_grad) {
        max_pool_gradient(windows, out_grad + at, place_.data() + at, wide_.data());
    }

    /// body(kh, t) for all window rows kh = phase + s t, phase by phase.
    template <typename Body>
    void for_window_rows(const Body& body) const {
        for (std::size_t phase = 0; phase < std::min(layer_.stride, layer_.kernel); ++phase)
            for (std::size_t t = 0; phase + t * layer_.stride < layer_.kernel; ++t) body(phase + t * layer_.stride, t);
    }
    std::size_t rows_before(std::size_t phase) const {
        std::size_t count = 0;
        for (std::size_t p = 0; p < phase; ++p) count += (layer_.kernel - p + layer_.stride - 1) / layer_.stride;
        return count;
    }

    /// body(in the output's row, in the input's row, length) for the parts of an output row whose inputs are contiguous.
    template <typename Body>
    void for_stretches(const Body& body) const {
        if (layer_.stride == 1) return body(0, 0, out_.width * batch_);
        for (std::size_t ow = 0; ow < out_.width; ++ow) body(ow * batch_, ow * layer_.stride * batch_, batch_);
    }

    /// turned_[kw][window row][output][input]: the order in which input_gradient adds.
    void turn(const Real* w) {
        const std::size_t k = layer_.kernel, inputs = layer_.inputs;
        Real* to = turned_.data();
        for (std::size_t kw = 0; kw < k; ++kw)
            for_window_rows([&](std::size_t kh, std::size_t) {
                for (std::size_t o = 0; o < layer_.outputs; ++o) {
                    const Real* const from = w + o * inputs * k * k + kh * k + kw;
                    for (std::size_t c = 0; c < inputs; ++c) *to++ = from[c * k * k];
                }
            });
    }

    const Real* with_border(const Real* in) {
        if (layer_.padding == 0) return in;
        copy_inside([&](std::size_t inside, std::size_t at, std::size_t count) {
            std::memcpy(padded_.data() + at, in + inside, count * sizeof(Real));
        });
        return padded_.data();
    }
    void without_border(Real* in_grad) {
        copy_inside([&](std::size_t inside, std::size_t at, std::size_t count) {
            std::memcpy(in_grad + inside, padded_grad_.data() + at, count * sizeof(Real));
        });
    }
    template <typename Copy>
    void copy_inside(const Copy& copy) const {
        const std::size_t row = in_.width * batch_;
        for (std::size_t c = 0; c < in_.channels; ++c)
            for (std::size_t h = 0; h < in_.height; ++h)
                copy((c * in_.height + h) * row, ((c * height_ + h + layer_.padding) * width_ + layer_.padding) * batch_, row);
    }

    static Real sum_along(const Real* p, std::size_t n) {
        constexpr std::size_t width = kChains<Real>;
        Chains<Real> sum{};
        std::size_t i = 0;
        for (; i + width <= n; i += width) sum += load_chains(p + i);
        if (i < n) sum += load_chains(p + i, Lanes(n - i));
        return sum_of(sum);
    }

    Layer layer_{};
    Stage pool_{};
    bool widens_all_ = false;  // at once, for the gradient of the input
    Shape in_{}, out_{};
    std::size_t height_ = 0, width_ = 0, batch_ = 0;  // of the input with its border
    Buffer<Real> turned_, padded_, padded_grad_;
    Buffer<Real> place_, wide_;      // of a max-pool that follows: where its maxima were; images as wide as its input, or parts of them
    std::vector<Step> into_, from_;  // where a window's inputs, and the outputs that saw an input, are
};

}  // namespace
}  // namespace fedbench::train
