// Two of the three loops in which training spends its time: sums of outer products and dot
// products. Their tiles of results stay in registers. The third loop is in row_sums.hpp.
#pragma once

#include <array>
#include <span>
#include <utility>

#include "chains.hpp"

namespace fedbench::train {
namespace {

/// One tile of sums of products: result[m, column] = start + sum over i of factor(m, i) *
/// row(i)[column].
template <typename Real>
struct Outer {
    enum class Start { zero, value, there };
    enum class End { put, add_scaled };

    const Real* factor;  // (m, i) is at m * factor_row + i * factor_step
    Step factor_row, factor_step;
    const Real* rows;  // row i starts at offset[i]
    const Step* offset;
    std::size_t count;
    Real* result;  // row m starts at m * result_row
    Step result_row;
    Start start = Start::zero;
    End end = End::put;
    const Real* value = nullptr;              // (m): where the sums start
    Real scale = 1;                           // result += scale * sum
    std::span<const Real* const> ahead = {};  // rows of as many columns that will be needed next: they are fetched meanwhile
};

/// Computes a tile of M rows and N registers of columns, the last of which has `lanes` numbers
/// unless it is `full`. Every element is one chain of multiply-adds in the order of i.
template <std::size_t M, std::size_t N, bool full, typename Real>
[[gnu::noinline]] void outer_tile(const Outer<Real>& o, std::size_t column, Lanes lanes) {
    constexpr std::size_t width = kLanes<Real>;
    using Kind = Outer<Real>;
    V<Real> sum[M][N] = {};
    Real* const result = o.result + column;  // copies: the compiler cannot know that no store changes `o`
    const Step result_row = o.result_row;
    const auto at = [&](std::size_t m, std::size_t v) __attribute__((always_inline)) {
        return result + static_cast<Step>(m) * result_row + v * width;
    };
    const auto there = [&](std::size_t m, std::size_t v) __attribute__((always_inline)) {
        return full || v + 1 < N ? load(at(m, v)) : load(at(m, v), lanes);
    };
    if (o.start == Kind::Start::value) {
#pragma GCC unroll 8
        for (std::size_t m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (std::size_t v = 0; v < N; ++v) sum[m][v] = all(o.value[m]);
    } else if (o.start == Kind::Start::there) {
#pragma GCC unroll 8
        for (std::size_t m = 0; m < M; ++m)
#pragma GCC unroll 8
            for (std::size_t v = 0; v < N; ++v) sum[m][v] = there(m, v);
    }
    const Real* factor = o.factor;
    const Real* const rows = o.rows + column;
    for (std::size_t i = 0; i < o.count; ++i, factor += o.factor_step) {
        const Real* const row = rows + o.offset[i];
        V<Real> x[N];
#pragma GCC unroll 8
        for (std::size_t v = 0; v < N; ++v) {
            x[v] = full || v + 1 < N ? load(row + v * width) : load(row + v * width, lanes);
            pin(x[v]);
        }
#pragma GCC unroll 8
        for (std::size_t m = 0; m < M; ++m) {
            V<Real> w = all(factor[static_cast<Step>(m) * o.factor_row]);
            pin(w);
#pragma GCC unroll 8
            for (std::size_t v = 0; v < N; ++v) sum[m][v] = fma(w, x[v], sum[m][v]);
        }
    }
    const bool scaled = o.end == Kind::End::add_scaled;
    const V<Real> scale = all(o.scale);
#pragma GCC unroll 8
    for (std::size_t m = 0; m < M; ++m)
#pragma GCC unroll 8
        for (std::size_t v = 0; v < N; ++v) {
            const V<Real> end = scaled ? fma(scale, sum[m][v], there(m, v)) : sum[m][v];
            full || v + 1 < N ? store(at(m, v), end) : store(at(m, v), end, lanes);
        }
}

/// Sums of products: result(m, n) = value(m) + sum over `length` numbers of p[m] * q[n].
template <typename Real>
struct Dots {
    const Real* const* p;
    const Real* const* q;
    std::size_t length;
    Real* result;  // (m, n) is at m + n * result_n
    Step result_n;
    const Real* value;  // (m)
};

/// Computes a tile of N columns and M registers of rows, each register with kPairs rows, of which
/// `rows` <= M * kPairs exist. Every chain is one of multiply-adds.
template <std::size_t M, std::size_t N, typename Real>
[[gnu::noinline]] void dots_tile(const Dots<Real>& d, std::size_t rows) {
    constexpr std::size_t width = kChains<Real>;
    const std::size_t whole = d.length / width * width;
    const Lanes rest(d.length - whole > 0 ? d.length - whole : width);
    V<Real> sum[M][N] = {};
    const Real *p[M][kPairs], *q[N];
#pragma GCC unroll 8
    for (std::size_t m = 0; m < M; ++m)
        for (std::size_t i = 0; i < kPairs; ++i) p[m][i] = d.p[m * kPairs + i < rows ? m * kPairs + i : rows - 1];
#pragma GCC unroll 8
    for (std::size_t n = 0; n < N; ++n) q[n] = d.q[n];
    const auto add = [&](std::size_t at, auto... lanes) __attribute__((always_inline)) {
        V<Real> y[N];
#pragma GCC unroll 8
        for (std::size_t n = 0; n < N; ++n) {
            y[n] = twice(load_chains(q[n] + at, lanes...));
            pin(y[n]);
        }
#pragma GCC unroll 8
        for (std::size_t m = 0; m < M; ++m) {
            V<Real> x;
            if constexpr (kPairs == 2) x = joined(load_chains(p[m][0] + at, lanes...), load_chains(p[m][1] + at, lanes...));
            else x = load_chains(p[m][0] + at, lanes...);
            pin(x);
#pragma GCC unroll 8
            for (std::size_t n = 0; n < N; ++n) sum[m][n] = fma(x, y[n], sum[m][n]);
        }
    };
    for (std::size_t i = 0; i < whole; i += width) add(i);
    if (whole < d.length) add(whole, rest);
#pragma GCC unroll 8
    for (std::size_t m = 0; m < M; ++m)
#pragma GCC unroll 2
        for (std::size_t i = 0; i < kPairs; ++i) {
            const std::size_t at = m * kPairs + i;
            if (at >= rows) break;
            Chains<Real> chains[N];
#pragma GCC unroll 8
            for (std::size_t n = 0; n < N; ++n) chains[n] = half_of(sum[m][n], i);
            Real total[N];
            sums_of<N, Real>(chains, total);
            for (std::size_t n = 0; n < N; ++n)
                d.result[static_cast<Step>(at) + static_cast<Step>(n) * d.result_n] = total[n] + d.value[at];
        }
}

/// How many rows the largest tile of dots has.
inline constexpr std::size_t kDotRows = kTileRows * kPairs;

template <typename Real>
using OuterTile = void (*)(const Outer<Real>&, std::size_t, Lanes);
template <typename Real>
using DotsTile = void (*)(const Dots<Real>&, std::size_t);

template <bool full, typename Real, std::size_t... I>
constexpr std::array<OuterTile<Real>, sizeof...(I)> outer_tiles(std::index_sequence<I...>) {
    return {&outer_tile<I / kTileColumns + 1, I % kTileColumns + 1, full, Real>...};
}
template <typename Real, std::size_t... I>
constexpr std::array<DotsTile<Real>, sizeof...(I)> dots_tiles(std::index_sequence<I...>) {
    return {&dots_tile<I / kTileColumns + 1, I % kTileColumns + 1, Real>...};
}
template <bool full, typename Real>
inline constexpr auto kOuterTiles = outer_tiles<full, Real>(std::make_index_sequence<kTileRows * kTileColumns>{});
template <typename Real>
inline constexpr auto kDotsTiles = dots_tiles<Real>(std::make_index_sequence<kTileRows * kTileColumns>{});

/// Columns of one tile: `count` registers from number `begin` on, the last of which has `lanes`.
struct Columns {
    std::size_t begin, count;
    Lanes lanes;
    bool full;
};

/// Calls body(Columns) for all of `columns` numbers, tile by tile.
template <typename Real, typename Body>
[[gnu::always_inline]] inline void in_columns(std::size_t columns, const Body& body) {
    constexpr std::size_t width = kLanes<Real>;
    in_parts((columns + width - 1) / width, kTileColumns, [&](std::size_t first, std::size_t n) {
        const std::size_t begin = first * width, left = columns - begin - (n - 1) * width;
        body(Columns{begin, n, Lanes(left < width ? left : width), left >= width});
    });
}

/// How many rows i of a tile's columns fit into the first-level cache. All results use these rows
/// before other rows are loaded.
inline constexpr std::size_t kDepth = (std::size_t{32} << 10) / (kTileColumns * kBytes);

/// Computes all results in some columns, summed over `count` rows i from `first` on.
template <typename Real>
void outer_part(std::size_t results, const Columns& columns, const Outer<Real>& o, std::size_t first, std::size_t count) {
    const auto& tiles = columns.full ? kOuterTiles<true, Real> : kOuterTiles<false, Real>;
    Outer<Real> t = o;
    t.count = count, t.offset += first;
    if (first > 0) t.start = Outer<Real>::Start::there;
    in_parts(results, kTileRows, [&](std::size_t m, std::size_t size) {
        t.factor = o.factor + static_cast<Step>(m) * o.factor_row + static_cast<Step>(first) * o.factor_step;
        t.result = o.result + static_cast<Step>(m) * o.result_row;
        if (o.value != nullptr) t.value = o.value + m;
        tiles[(size - 1) * kTileColumns + columns.count - 1](t, columns.begin, columns.lanes);
    });
}

/// Computes all results in any number of columns.
template <typename Real>
void outer(std::size_t results, std::size_t columns, const Outer<Real>& o) {
    const std::size_t depth = o.end == Outer<Real>::End::put ? kDepth : o.count;  // a scaled sum is added once
    in_columns<Real>(columns, [&](const Columns& part) {
        for (const Real* row : o.ahead)
            for (std::size_t v = 0; v < part.count; ++v) __builtin_prefetch(row + part.begin + v * kLanes<Real>);
        in_parts(o.count, depth, [&](std::size_t first, std::size_t count) { outer_part<Real>(results, part, o, first, count); });
    });
}

/// Computes m <= kDotRows times n <= kTileColumns dot products with the tile of that size.
template <typename Real>
void dots(std::size_t m, std::size_t n, const Dots<Real>& d) {
    kDotsTiles<Real>[(m - 1) / kPairs * kTileColumns + n - 1](d, m);
}

}  // namespace
}  // namespace fedbench::train
