// Layers on symbols: whole numbers that name rows of a table.
#pragma once

#include <algorithm>

#include "activations.hpp"

namespace fedbench::train {
namespace {

/// The last `kept` of `size` numbers of every example.
template <typename Real>
void last(const Real* const* rows, std::size_t size, std::size_t batch, Real* out, std::size_t kept) {
    for (std::size_t b = 0; b < batch; ++b) std::copy_n(rows[b] + size - kept, kept, out + b * kept);
}

template <typename Real>
void last_gradient(const Real* slope, std::size_t kept, std::size_t batch, Real* in_grad, std::size_t size) {
    for (std::size_t b = 0; b < batch; ++b) {
        std::fill_n(in_grad + b * size, size - kept, Real{0});
        std::copy_n(slope + b * kept, kept, in_grad + b * size + size - kept);
    }
}

/// Where the table's rows of the batch's symbols start, example after example. The data were checked; a number that somebody changed
/// since to something that is no symbol is taken as the symbol 0, so that nothing beyond the table is touched.
template <typename Real>
void find_rows(const Layer& layer, const Real* const* rows, std::size_t window, std::size_t batch, Step* offset) {
    for (std::size_t b = 0; b < batch; ++b)
        for (std::size_t t = 0; t < window; ++t) {
            const Real symbol = rows[b][t];
            const bool is_symbol = symbol >= 0 && symbol < static_cast<Real>(layer.inputs);
            *offset++ = is_symbol ? static_cast<Step>(symbol) * static_cast<Step>(layer.outputs) : 0;
        }
}

/// The rows of `table` that start at `offset`, one after the other; a part is some of them.
template <typename Real>
void embedding_forward(Part part, std::size_t width, const Real* table, const Step* offset, std::size_t count, Real* out) {
    const auto [begin, end] = part.of(count);
    for (std::size_t i = begin; i < end; ++i) std::copy_n(table + offset[i], width, out + i * width);
}

/// Adds the slope of every row of the result to the row of `gradient` that it was a copy of, in the order of examples and, within one, of
/// places. A part is some columns, so every element is one chain of additions whoever helps.
template <typename Real>
void embedding_backward(Part part, std::size_t width, const Step* offset, std::size_t count, const Real* slope, Real* gradient) {
    const auto [begin, end] = part.of(width, kLanes<Real>);
    for (std::size_t i = 0; i < count; ++i) {
        const Real* const from = slope + i * width;
        Real* const to = gradient + offset[i];
        for (std::size_t c = begin; c < end; ++c) to[c] += from[c];
    }
}

}  // namespace
}  // namespace fedbench::train
