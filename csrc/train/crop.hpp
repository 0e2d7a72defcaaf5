// Random crops and mirrored images.
#pragma once

#include <algorithm>

#include "fedbench/train.hpp"

namespace fedbench::train {
namespace {

/// Writes an image (channels, height, width) cropped and mirrored as a random word says; see
/// CropAndFlip.
template <typename Real>
void crop_and_flip(const Real* image, const Shape& shape, const CropAndFlip<Real>& how, std::uint32_t word, Real* out) {
    const std::size_t h = shape.height, w = shape.width, p = how.padding, places = 2 * p + 1;
    const std::size_t j = std::uint64_t{word} * (2 * places * places) >> 32;
    const std::size_t top = j / (2 * places), left = j / 2 % places;
    const std::size_t begin = left < p ? p - left : 0, end = left < w + p ? std::min(w, w + p - left) : 0;  // the columns on the image
    for (std::size_t c = 0; c < shape.channels; ++c, image += h * w)
        for (std::size_t y = 0; y < h; ++y, out += w) {
            const std::size_t line = top + y - p;  // too large as well if it lies above the image
            std::fill_n(out, w, how.fill[c]);
            if (line < h && begin < end) std::copy(image + line * w + (left + begin - p), image + line * w + (left + end - p), out + begin);
            if (j % 2 == 1) std::reverse(out, out + w);
        }
}

}  // namespace
}  // namespace fedbench::train
