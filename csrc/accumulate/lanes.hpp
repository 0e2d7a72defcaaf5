// The loops behind accumulate.hpp: eight elements at a time, and eight float64 sums. A file per
// instruction set includes them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../simd/pack.hpp"
#include "../simd/prefetch.hpp"
#include "fedbench/accumulate.hpp"

namespace fedbench::lanes {

namespace {

using simd::broadcast;

using Sums = simd::Pack<double, kLanes>;
using All = std::integral_constant<std::size_t, kLanes>;

/// Calls body(i, count) for the elements from i on, eight at a time. `count` is All{}, or a number
/// where fewer are left.
template <typename Body>
[[gnu::always_inline]] inline void in_lanes(std::size_t begin, std::size_t end, const Body& body) {
    for (; begin + kLanes <= end; begin += kLanes) body(begin, All{});
    if (begin < end) body(begin, end - begin);
}

template <typename Real>
[[gnu::always_inline]] inline simd::Pack<Real, kLanes> load(const Real* p, All) {
    return simd::load<kLanes>(p);
}
/// Lanes that do not exist are 0, which adds nothing to a sum.
template <typename Real>
[[gnu::always_inline]] inline simd::Pack<Real, kLanes> load(const Real* p, std::size_t count) {
    return simd::load<kLanes>(p, count);
}

/// sums + a b in float64, one rounding a lane.
template <typename Real>
[[gnu::always_inline]] inline Sums add_products(const Sums& sums, const simd::Pack<Real, kLanes>& a, const simd::Pack<Real, kLanes>& b) {
    return fma(widened(a), widened(b), sums);
}

/// Stores results that no cache keeps past the caches: an ordinary store would first read what it
/// overwrites.
template <typename Real>
bool goes_past_caches(std::span<const Real> out) {
    return simd::kCanStorePast && out.size_bytes() >= std::size_t{16} << 20 && reinterpret_cast<std::uintptr_t>(out.data()) % 16 == 0;
}

/// Packs of elements that a weighted sum takes from one vector before it goes to the next.
inline constexpr std::size_t kPacks = 4;

template <bool past, typename Real>
double weighted_sum_to(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from) {
    using Pack = simd::Pack<Real, kLanes>;
    double norm2 = 0;
    for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
        const std::size_t end = std::min(begin + kBlock, out.size()), whole = end - (end - begin) % (kPacks * kLanes);
        Sums sums = broadcast<kLanes>(0.0);
        const auto add = [&](Pack & total, std::size_t k, std::size_t i, auto count) __attribute__((always_inline)) {
            const Real* const v = vectors[k] + from + i;
            fetch_ahead(v);
            total = fma(broadcast<kLanes>(static_cast<Real>(weights[k])), load(v, count), total);
        };
        const auto put = [&](const Pack& total, std::size_t i) __attribute__((always_inline)) {
            if constexpr (past) store_past(out.data() + i, total);
            else store(out.data() + i, total);
            sums = add_products(sums, total, total);
        };
        for (std::size_t i = begin; i < whole; i += kPacks * kLanes) {
            Pack total[kPacks] = {};
            for (std::size_t k = 0; k < vectors.size(); ++k)
#pragma GCC unroll 4
                for (std::size_t p = 0; p < kPacks; ++p) add(total[p], k, i + p * kLanes, All{});
#pragma GCC unroll 4
            for (std::size_t p = 0; p < kPacks; ++p) put(total[p], i + p * kLanes);
        }
        in_lanes(
            whole, end, [&](std::size_t i, auto count) __attribute__((always_inline)) {
                Pack total = {};
                for (std::size_t k = 0; k < vectors.size(); ++k) add(total, k, i, count);
                if constexpr (std::same_as<decltype(count), All>) return put(total, i);
                store(out.data() + i, total, count);
                total = load(out.data() + i, count);  // an infinite weight times a lane that is not there is NaN
                sums = add_products(sums, total, total);
            });
        norm2 += sum_of_lanes(sums);
    }
    if constexpr (past) simd::fence();
    return norm2;
}

/// Writes the weighted sum of elements from, from + 1, .. of the vectors to out[0], out[1], .., and
/// returns the sum of its squares.
template <typename Real>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from) {
    if (goes_past_caches<Real>(out)) return weighted_sum_to<true>(weights, vectors, out, from);
    return weighted_sum_to<false>(weights, vectors, out, from);
}

template <typename Real>
double dot(std::span<const Real> a, std::span<const Real> b) {
    double result = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += kBlock) {
        Sums sums = broadcast<kLanes>(0.0);
        in_lanes(
            begin, std::min(begin + kBlock, a.size()), [&](std::size_t i, auto count) __attribute__((always_inline)) {
                fetch_ahead(a.data() + i), fetch_ahead(b.data() + i);
                sums = add_products(sums, load(a.data() + i, count), load(b.data() + i, count));
            });
        result += sum_of_lanes(sums);
    }
    return result;
}

template <typename Real>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta) {
    Movement total{};
    for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
        Sums x2 = broadcast<kLanes>(0.0), moved2 = x2, delta2 = x2, product = x2;
        in_lanes(
            begin, std::min(begin + kBlock, x.size()), [&](std::size_t i, auto count) __attribute__((always_inline)) {
                fetch_ahead(x.data() + i), fetch_ahead(base.data() + i), fetch_ahead(delta.data() + i);
                const auto at = load(x.data() + i, count), other = load(delta.data() + i, count);
                const auto moved = at - load(base.data() + i, count);
                x2 = add_products(x2, at, at);
                moved2 = add_products(moved2, moved, moved);
                delta2 = add_products(delta2, other, other);
                product = add_products(product, moved, other);
            });
        total.x2 += sum_of_lanes(x2), total.moved2 += sum_of_lanes(moved2);
        total.delta2 += sum_of_lanes(delta2), total.product += sum_of_lanes(product);
    }
    return total;
}

}  // namespace
}  // namespace fedbench::lanes
