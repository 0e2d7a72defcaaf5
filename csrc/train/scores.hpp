// Scores of logits, compiled once for every instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../distill/pack.hpp"

namespace fedbench::train {
namespace {

/// Applies f to the first n numbers, a pack at a time; the numbers that fill up the last pack are
/// also written.
template <typename F>
void in_packs(double* x, std::size_t n, const F& f) {
    for (std::size_t i = 0; i < n; i += distillation::Pack<double>::width) store(x + i, f(distillation::load(x + i)));
}

/// Computes cross-entropies: first all exponentials of many rows, then their sums, each one chain,
/// class by class, then the logarithms.
template <typename Real>
void score_rows(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right) {
    const std::size_t most = std::max<std::size_t>(1, 1024 / classes);  // rows whose exponentials stay in the first-level cache
    constexpr std::size_t spare = distillation::Pack<double>::width;
    std::vector<double> below(most * classes + spare), sums(most + spare), of_label(most);
    for (std::size_t begin = 0; begin < labels.size(); begin += most) {
        const std::size_t rows = std::min(most, labels.size() - begin);
        for (std::size_t i = 0; i < rows; ++i) {
            const Real* const row = logits.data() + (begin + i) * classes;
            std::size_t best = 0;
            for (std::size_t c = 1; c < classes; ++c)
                if (row[c] > row[best]) best = c;
            for (std::size_t c = 0; c < classes; ++c) below[i * classes + c] = static_cast<double>(row[c]) - static_cast<double>(row[best]);
            const auto label = static_cast<std::size_t>(labels[begin + i]);
            of_label[i] = below[i * classes + label];
            right[begin + i] = best == label ? 1.0 : 0.0;
        }
        in_packs(
            below.data(), rows * classes, [](auto d) __attribute__((always_inline)) { return distillation::exp_negative(d); });
        for (std::size_t i = 0; i < rows; ++i) {
            sums[i] = 0;
            for (std::size_t c = 0; c < classes; ++c) sums[i] += below[i * classes + c];
        }
        in_packs(
            sums.data(), rows, [](auto sum) __attribute__((always_inline)) { return log_positive(sum); });
        for (std::size_t i = 0; i < rows; ++i) loss[begin + i] = sums[i] - of_label[i];
    }
}

}  // namespace
}  // namespace fedbench::train
