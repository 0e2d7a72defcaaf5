// The third loop in which training spends its time, beside the two of tiles.hpp: sums of chosen
// rows.
#pragma once

#include <array>
#include <utility>

#include "chains.hpp"

namespace fedbench::train {
namespace {

/// One tile of sums of rows: result(r)[column] += sum over i of value[i] * row(i, r)[column].
template <typename Real>
struct RowSum {
    const Real* value;       // (i)
    const std::int32_t* at;  // row (i, r) starts at rows + at[i] + r * row_step
    std::size_t count;
    const Real* rows;
    Step row_step;
    Real* result;  // result r starts at result + r * result_step
    Step result_step;
};

/// Computes R rows of N registers, the last of which has `lanes` numbers unless it is `full`. Every
/// element is one chain of multiply-adds in the order of i.
template <std::size_t R, std::size_t N, bool full, typename Real>
[[gnu::noinline]] void row_sum_tile(const RowSum<Real>& o, Lanes lanes) {
    constexpr std::size_t width = kLanes<Real>;
    const auto there = [&](const Real* p, std::size_t n) __attribute__((always_inline)) {
        return full || n + 1 < N ? load(p + n * width) : load(p + n * width, lanes);
    };
    V<Real> sum[R][N];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
        for (std::size_t n = 0; n < N; ++n) sum[r][n] = there(o.result + static_cast<Step>(r) * o.result_step, n);
    const Real *const value = o.value, *const rows = o.rows;
    const std::int32_t* const at = o.at;
    const Step row_step = o.row_step;
    for (std::size_t i = 0, count = o.count; i < count; ++i) {
        V<Real> g = all(value[i]);
        pin(g);
        const Real* const row = rows + at[i];
#pragma GCC unroll 8
        for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
            for (std::size_t n = 0; n < N; ++n) sum[r][n] = fma(g, there(row + static_cast<Step>(r) * row_step, n), sum[r][n]);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r)
#pragma GCC unroll 16
        for (std::size_t n = 0; n < N; ++n) {
            Real* const to = o.result + static_cast<Step>(r) * o.result_step + n * width;
            full || n + 1 < N ? store(to, sum[r][n]) : store(to, sum[r][n], lanes);
        }
}

template <typename Real>
using RowSumTile = void (*)(const RowSum<Real>&, Lanes);
template <bool full, typename Real, std::size_t... I>
constexpr std::array<RowSumTile<Real>, sizeof...(I)> long_row_sums(std::index_sequence<I...>) {
    return {&row_sum_tile<1, I + 1, full, Real>...};
}
template <typename Real, std::size_t... I>
constexpr std::array<RowSumTile<Real>, sizeof...(I)> short_row_sums(std::index_sequence<I...>) {
    return {&row_sum_tile<I + 1, 1, false, Real>...};
}
template <bool full, typename Real>
inline constexpr auto kLongRowSums = long_row_sums<full, Real>(std::make_index_sequence<kRowRegisters>{});
template <typename Real>
inline constexpr auto kShortRowSums = short_row_sums<Real>(std::make_index_sequence<kRowRegisters>{});

/// Adds the sum to one row of `columns` numbers.
template <typename Real>
void sum_long_row(std::size_t columns, RowSum<Real> o) {
    constexpr std::size_t width = kLanes<Real>;
    in_parts((columns + width - 1) / width, kRowRegisters, [&](std::size_t first, std::size_t n) {
        const std::size_t left = columns - (first + n - 1) * width;
        RowSum<Real> part = o;
        part.rows += first * width, part.result += first * width;
        (left >= width ? kLongRowSums<true, Real> : kLongRowSums<false, Real>)[n - 1](part, Lanes(left < width ? left : width));
    });
}

/// Adds the sums to some rows of at most kChains numbers.
template <typename Real>
void sum_short_rows(std::size_t rows, std::size_t columns, RowSum<Real> o) {
    in_parts(rows, kRowRegisters, [&](std::size_t first, std::size_t n) {
        RowSum<Real> part = o;
        part.rows += static_cast<Step>(first) * o.row_step, part.result += static_cast<Step>(first) * o.result_step;
        kShortRowSums<Real>[n - 1](part, Lanes(columns));
    });
}

/// Adds `sum` to `count` rows of `length` numbers from `result` on. Row r of the first multiplied
/// number starts at rows + r * row_step.
template <typename Real>
void add_rows(RowSum<Real> sum, const Real* rows, std::size_t row_step, Real* result, std::size_t result_step, std::size_t count,
              std::size_t length) {
    sum.rows = rows, sum.row_step = static_cast<Step>(row_step);
    sum.result = result, sum.result_step = static_cast<Step>(result_step);
    count > 1 ? sum_short_rows<Real>(count, length, sum) : sum_long_row<Real>(length, sum);
}

}  // namespace
}  // namespace fedbench::train
