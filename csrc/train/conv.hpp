// The arithmetic of a convolution on images (channels, height, width, example), with stride and
// zero padding. No patches are copied: forward, a window's column is a shift of a contiguous row;
// backward, images are (example, height, width, channel), where a row of a window is contiguous. A
// max-pool that follows belongs to it: the large image between the two is never whole, and of its
// slopes only those of the maxima are looked at.
#pragma once

#include <algorithm>

#include "pool.hpp"
#include "slopes.hpp"

namespace fedbench::train {
namespace {

/// One convolution's tables and scratch memory for the current batch size. `pool` is the max-pool
/// that follows, if one does. `backward` says whether its input's gradient will be wanted.
/// `threads` is how many threads may work on it.
template <typename Real>
class Convolution {
public:
    Convolution() = default;
    Convolution(const Stage& stage, const Stage* pool, bool backward, std::size_t largest, std::size_t threads)
        : layer_(stage.layer),
          in_(stage.in),
          out_(stage.out),
          height_(in_.height + 2 * layer_.padding),
          width_(in_.width + 2 * layer_.padding),
          is_first_(!backward),
          patches_(in_.channels * height_ * width_ * largest),
          turned_gradient_(stage.weights),
          into_(layer_.inputs * layer_.kernel * layer_.kernel),
          seen_(out_.height * out_.width) {
        std::size_t windows = seen_.size();
        if (pool != nullptr) {
            pool_ = *pool;
            place_ = Buffer<Real>(pool_.out.size() * largest);
            for (std::size_t i = 0; i < threads; ++i) wide_.emplace_back(kTileRows * pool_.layer.kernel * out_.width * largest);
            windows = pool_.out.height * pool_.out.width;
        }
        const std::size_t k = pool_.layer.kernel;
        for (std::size_t w = 0; w < windows; ++w)
            corner_.push_back(static_cast<std::int32_t>(k == 0 ? w : w / pool_.out.width * k * out_.width + w % pool_.out.width * k));
        for (std::size_t i = 0; i < k * k; ++i) within_.push_back(static_cast<std::int32_t>(i / k * out_.width + i % k));
        found_.resize(threads, std::vector<std::int32_t>(windows));
        of_output_ = Slopes<Real>(largest * out_.channels, windows);
        if (backward) {
            patches_gradient_ = Buffer<Real>(patches_.size());
            turned_ = Buffer<Real>(stage.weights);
            of_place_ = Slopes<Real>(largest * seen_.size(), out_.channels);
        }
        for (std::size_t h = 0; h < out_.height; ++h)
            for (std::size_t w = 0; w < out_.width; ++w)
                seen_[h * out_.width + w] = static_cast<std::int32_t>((h * width_ + w) * layer_.stride * in_.channels);
        if (layer_.padding > 0) padded_ = Buffer<Real>(patches_.size());
    }

    void set_batch(std::size_t batch) {
        batch_ = batch;
        const std::size_t k = layer_.kernel;
        Step* entry = into_.data();
        for (std::size_t c = 0; c < layer_.inputs; ++c)
            for (std::size_t kh = 0; kh < k; ++kh)
                for (std::size_t kw = 0; kw < k; ++kw) *entry++ = static_cast<Step>(((c * height_ + kh) * width_ + kw) * batch);
        padded_.clear();
    }

    void forward(Helpers& helpers, const Real* w, const Real* bias, const Real* in, Real* out) {
        in = with_border(in);
        helpers.split(parts(helpers), [&](Part part) { forward_part(part, w, bias, in, out); });
    }

    /// Writes dW into `weight`, db into `bias`, and into `in_grad`, unless it is null, the gradient
    /// of the input; `in` is what `forward` got. Slopes that are 0 are skipped, and before a
    /// max-pool and a rectifier most are 0.
    void backward(Helpers& helpers, const Real* w, const Real* in, const Real* out_grad, Real* weight, Real* bias, Real* in_grad) {
        const Real* const image = layer_.padding > 0 ? padded_.data() : in;
        const std::size_t parts = this->parts(helpers);
        helpers.split(parts, [&](Part part) {
            find_slopes(part, out_grad);
            if (in_grad != nullptr) turn_weights(part, w);
        });
        helpers.split(parts, [&](Part part) {
            if (in_grad != nullptr) input_gradient(part);
            make_patches(part, image);
        });
        helpers.split(parts, [&](Part part) {
            if (in_grad != nullptr) without_border(part, in_grad);
            weight_gradient(part, weight);
            const std::size_t places = of_output_.most * batch_;
            const auto [begin, end] = part.of(layer_.outputs);
            for (std::size_t o = begin; o < end; ++o) bias[o] = sum_along(out_grad + o * places, places);
        });
    }

private:
    bool is_pooled() const { return pool_.layer.kernel > 0; }

    /// Returns how many parts a section is worth.
    std::size_t parts(const Helpers& helpers) const {
        return parts_worth(helpers, layer_.outputs * out_.height * out_.width * into_.size() * batch_);
    }

    /// Computes some rows of the results.
    void forward_part(Part part, const Real* w, const Real* bias, const Real* in, Real* out) {
        const std::size_t row = out_.width * batch_;
        const auto [begin, end] = part.of(is_pooled() ? pool_.out.height : out_.height);
        if (!is_pooled()) {
            for (std::size_t oh = begin; oh < end; ++oh) forward_row(w, bias, in, oh, 0, layer_.outputs, out + oh * row, out_.height * row);
            return;
        }
        // A row of windows at a time, for so many channels that the rows in between stay in the
        // first-level cache.
        const std::size_t k = pool_.layer.kernel;
        Real* const wide = wide_[part.index].data();
        Windows windows = windows_of(pool_, batch_);
        windows.height = 1, windows.in_plane = k * row;
        for (std::size_t h = begin; h < end; ++h)
            in_parts(layer_.outputs, kTileRows, [&](std::size_t o, std::size_t m) {
                for (std::size_t r = 0; r < k; ++r) forward_row(w, bias, in, h * k + r, o, m, wide + r * row, k * row);
                windows.channels = m;
                const std::size_t to = o * windows.out_plane + h * windows.width * batch_;
                max_pool(windows, wide, out + to, place_.data() + to);
            });
    }

    /// Computes row oh of output channels o to o + m, and writes the first of them to `out`.
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

    /// Lists every slope of some examples twice: in a list of its example and output channel, which
    /// leads to the inputs that it saw, and in a list of its example and place, which leads to the
    /// channel's weights.
    void find_slopes(Part part, const Real* out_grad) {
        const auto [begin, end] = part.of(batch_);
        const std::size_t windows = of_output_.most, window = layer_.inputs * layer_.kernel * layer_.kernel;
        const Real* const place = is_pooled() ? place_.data() : nullptr;
        const std::int32_t *const corner = corner_.data(), *const within = within_.data(), *const seen = seen_.data();
        if (!is_first_)
            std::fill(of_place_.count.begin() + static_cast<Step>(begin * seen_.size()),
                      of_place_.count.begin() + static_cast<Step>(end * seen_.size()), 0u);
        for (std::size_t o = 0; o < layer_.outputs; ++o)
            for (std::size_t b = begin; b < end; ++b) {
                const std::size_t list = b * layer_.outputs + o;
                Real* const value = of_output_.value.data() + list * windows;
                std::int32_t *const at = of_output_.at.data() + list * windows, *const found = found_[part.index].data();
                const std::size_t first = o * windows * batch_ + b;
                std::uint32_t n = 0;
                for (std::size_t w = 0; w < windows; ++w) {  // entries behind the end of the list are overwritten
                    const Real slope = out_grad[first + w * batch_];
                    found[n] = corner[w] + (place != nullptr ? within[static_cast<std::int32_t>(place[first + w * batch_])] : 0);
                    value[n] = slope;
                    n += slope != 0;
                }
                for (std::uint32_t i = 0; i < n; ++i) at[i] = seen[found[i]];
                of_output_.count[list] = n;
                if (!is_first_)
                    for (std::uint32_t i = 0; i < n; ++i) {
                        const std::size_t there = b * seen_.size() + static_cast<std::size_t>(found[i]);
                        const std::size_t next = there * of_place_.most + of_place_.count[there]++;
                        of_place_.value.data()[next] = value[i], of_place_.at[next] = static_cast<std::int32_t>(o * window);
                    }
            }
    }

    /// Calls body(row, rows, first, count) for the parts of a window: `rows` rows from `row` on,
    /// and `count` numbers of each from `first` on. Short rows come all at once. Long ones come in
    /// stretches, whose weights of all output channels stay in the first-level cache. An input's
    /// gradient adds part by part, so the parts are the same for all registers.
    template <typename Body>
    void for_window_parts(const Body& body) const {
        constexpr std::size_t stretch = 320 / sizeof(Real);
        const std::size_t k = layer_.kernel, length = k * layer_.inputs;
        if (length <= kChains<Real>) return body(0, k, 0, length);
        for (std::size_t kh = 0; kh < k; ++kh)
            for (std::size_t first = 0; first < length; first += stretch) body(kh, 1, first, std::min(stretch, length - first));
    }

    /// Copies images to the layout (example, height, width, channel).
    void make_patches(Part part, const Real* in) {
        const std::size_t c = layer_.inputs, plane = height_ * width_;
        const auto [begin, end] = part.of(plane);
        for (std::size_t at = begin; at < end; ++at)
            for (std::size_t b = 0; b < batch_; ++b)
                for (std::size_t i = 0; i < c; ++i) patches_.data()[(b * plane + at) * c + i] = in[(i * plane + at) * batch_ + b];
    }

    /// Computes the gradient of the weights of some outputs. Every weight is one chain: example by
    /// example, place by place.
    void weight_gradient(Part part, Real* weight) {
        const std::size_t c = layer_.inputs, k = layer_.kernel, image = height_ * width_ * c, row = width_ * c, length = k * c;
        const auto [begin, end] = part.of(layer_.outputs);
        std::fill(turned_gradient_.data() + begin * k * length, turned_gradient_.data() + end * k * length, Real{0});
        for (std::size_t b = 0; b < batch_; ++b)
            for (std::size_t o = begin; o < end; ++o) {
                const RowSum<Real> sum = of_output_.sum(b * layer_.outputs + o);
                if (sum.count == 0) continue;
                for_window_parts([&](std::size_t kh, std::size_t rows, std::size_t first, std::size_t n) {
                    add_rows(sum, patches_.data() + b * image + kh * row + first, row,
                             turned_gradient_.data() + (o * k + kh) * length + first, length, rows, n);
                });
            }
        for_weights(part, [&](std::size_t flat, std::size_t turned) { weight[flat] = turned_gradient_.data()[turned]; });
    }

    void turn_weights(Part part, const Real* w) {
        for_weights(part, [&](std::size_t flat, std::size_t turned) { turned_.data()[turned] = w[flat]; });
    }

    /// Computes the gradient of the inputs of some examples. Every input is one chain: window part
    /// by window part, place by place, output channel by output channel.
    void input_gradient(Part part) {
        const std::size_t c = layer_.inputs, image = height_ * width_ * c, row = width_ * c, length = layer_.kernel * c;
        const auto [begin, end] = part.of(batch_);
        std::fill(patches_gradient_.data() + begin * image, patches_gradient_.data() + end * image, Real{0});
        for_window_parts([&, first_example = begin, last = end](std::size_t kh, std::size_t rows, std::size_t first, std::size_t n) {
            for (std::size_t b = first_example; b < last; ++b)
                for (std::size_t at = 0; at < seen_.size(); ++at) {
                    const RowSum<Real> sum = of_place_.sum(b * seen_.size() + at);
                    if (sum.count == 0) continue;
                    add_rows(sum, turned_.data() + kh * length + first, length,
                             patches_gradient_.data() + b * image + static_cast<std::size_t>(seen_[at]) + kh * row + first, row, rows, n);
                }
        });
    }

    /// Copies some rows of the inputs' gradient, without the border, to the layout of images.
    void without_border(Part part, Real* in_grad) const {
        const std::size_t c = layer_.inputs, image = height_ * width_ * c, p = layer_.padding;
        const auto [begin, end] = part.of(in_.height);
        for (std::size_t h = begin; h < end; ++h)
            for (std::size_t x = 0; x < in_.width; ++x)
                for (std::size_t b = 0; b < batch_; ++b)
                    for (std::size_t i = 0; i < c; ++i)
                        in_grad[((i * in_.height + h) * in_.width + x) * batch_ + b] =
                            patches_gradient_.data()[b * image + ((h + p) * width_ + x + p) * c + i];
    }

    /// Calls body(place in (output, input, row, column), place in (output, row, column, input)) for
    /// the weights of some outputs.
    template <typename Body>
    void for_weights(Part part, const Body& body) const {
        const std::size_t c = layer_.inputs, k2 = layer_.kernel * layer_.kernel;
        const auto [begin, end] = part.of(layer_.outputs);
        for (std::size_t o = begin; o < end; ++o)
            for (std::size_t at = 0; at < k2; ++at)
                for (std::size_t i = 0; i < c; ++i) body((o * c + i) * k2 + at, (o * k2 + at) * c + i);
    }

    /// Calls body(place in the output's row, place in the input's row, length) for the parts of an
    /// output row whose inputs are contiguous.
    template <typename Body>
    void for_stretches(const Body& body) const {
        if (layer_.stride == 1) return body(0, 0, out_.width * batch_);
        for (std::size_t ow = 0; ow < out_.width; ++ow) body(ow * batch_, ow * layer_.stride * batch_, batch_);
    }

    const Real* with_border(const Real* in) {
        if (layer_.padding == 0) return in;
        const std::size_t row = in_.width * batch_;
        for (std::size_t c = 0; c < in_.channels; ++c)
            for (std::size_t h = 0; h < in_.height; ++h)
                std::memcpy(padded_.data() + ((c * height_ + h + layer_.padding) * width_ + layer_.padding) * batch_,
                            in + (c * in_.height + h) * row, row * sizeof(Real));
        return padded_.data();
    }

    Layer layer_{};
    Stage pool_{};
    Shape in_{}, out_{};
    std::size_t height_ = 0, width_ = 0, batch_ = 0;  // of the input with its border
    bool is_first_ = true;                            // the gradient of its input is not needed
    Buffer<Real> padded_;
    Buffer<Real> patches_, patches_gradient_;       // (example, height, width, channel): a row of a window is contiguous
    Buffer<Real> turned_, turned_gradient_;         // weights as (output, row, column, input)
    Buffer<Real> place_;                            // where the maxima of the max-pool were
    std::vector<Buffer<Real>> wide_;                // for every part: a few rows of the pool's input
    std::vector<Step> into_;                        // where a window's inputs are
    std::vector<std::int32_t> seen_;                // where the patch of an output's place begins
    std::vector<std::int32_t> corner_, within_;     // places of windows' first elements, and of the others from there
    std::vector<std::vector<std::int32_t>> found_;  // for every part: places of slopes
    Slopes<Real> of_output_, of_place_;
};

}  // namespace
}  // namespace fedbench::train
