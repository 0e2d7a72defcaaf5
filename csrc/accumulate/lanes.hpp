// The eight-lane arithmetic behind accumulate.hpp, written once over a vector type `Lanes<Real>`:
// eight values of Real, and eight float64 sums. A file per instruction set instantiates it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fedbench/accumulate.hpp"
#include "fedbench/ahead.hpp"

namespace fedbench::lanes {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kBlock = 4096;

constexpr double add_lanes(const double (&s)[kLanes]) { return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])); }

/// Results that no cache keeps are stored past the caches: an ordinary store would first read what it overwrites.
template <typename Real>
bool goes_past_caches(std::span<const Real> out) {
    return out.size_bytes() >= std::size_t{16} << 20 && reinterpret_cast<std::uintptr_t>(out.data()) % 16 == 0;
}

template <bool past, typename Real, typename Ops>
double weighted_sum_to(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from) {
    const std::size_t d = out.size();
    double norm2 = 0;
    for (std::size_t begin = 0; begin < d; begin += kBlock) {
        const std::size_t end = begin + kBlock < d ? begin + kBlock : d;
        auto sums = Ops::zero_sums();
        std::size_t i = begin;
        for (; i + kLanes <= end; i += kLanes) {
            auto total = Ops::zero();
            for (std::size_t k = 0; k < vectors.size(); ++k) {
                fetch_ahead(vectors[k] + from + i);
                total = Ops::fma(Ops::broadcast(static_cast<Real>(weights[k])), Ops::load(vectors[k] + from + i), total);
            }
            if constexpr (past) Ops::store_past(out.data() + i, total);
            else Ops::store(out.data() + i, total);
            sums = Ops::add_products(sums, total, total);
        }
        double lane[kLanes];
        Ops::spill(sums, lane);
        for (std::size_t j = 0; i < end; ++i, ++j) {
            Real total = 0;
            for (std::size_t k = 0; k < vectors.size(); ++k) total = Ops::fma1(static_cast<Real>(weights[k]), vectors[k][from + i], total);
            out[i] = total;
            lane[j] = Ops::fma1(static_cast<double>(total), static_cast<double>(total), lane[j]);
        }
        norm2 += add_lanes(lane);
    }
    if constexpr (past) Ops::fence();
    return norm2;
}

/// Elements from, from + 1, .. of the vectors go to out[0], out[1], ..
/// Ops supplies: Values (eight Reals), Sums (eight doubles), load, store, broadcast, fma, zero, zero_sums,
/// add_squares / add_products (one float64 fma per lane), spill(Sums, double[8]); and where it can, store_past and, after many, fence.
template <typename Real, typename Ops>
double weighted_sum(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from = 0) {
    if constexpr (requires { Ops::fence(); })
        if (goes_past_caches<Real>(out)) return weighted_sum_to<true, Real, Ops>(weights, vectors, out, from);
    return weighted_sum_to<false, Real, Ops>(weights, vectors, out, from);
}

template <typename Real, typename Ops>
double dot(std::span<const Real> a, std::span<const Real> b) {
    const std::size_t d = a.size();
    double result = 0;
    for (std::size_t begin = 0; begin < d; begin += kBlock) {
        const std::size_t end = begin + kBlock < d ? begin + kBlock : d;
        auto sums = Ops::zero_sums();
        std::size_t i = begin;
        for (; i + kLanes <= end; i += kLanes) {
            fetch_ahead(a.data() + i), fetch_ahead(b.data() + i);
            sums = Ops::add_products(sums, Ops::load(a.data() + i), Ops::load(b.data() + i));
        }
        double lane[kLanes];
        Ops::spill(sums, lane);
        for (std::size_t j = 0; i < end; ++i, ++j) lane[j] = Ops::fma1(static_cast<double>(a[i]), static_cast<double>(b[i]), lane[j]);
        result += add_lanes(lane);
    }
    return result;
}

template <typename Real, typename Ops>
Movement movement(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta) {
    const std::size_t d = x.size();
    double total[4] = {};
    for (std::size_t begin = 0; begin < d; begin += kBlock) {
        const std::size_t end = begin + kBlock < d ? begin + kBlock : d;
        auto x2 = Ops::zero_sums(), moved2 = x2, delta2 = x2, product = x2;
        std::size_t i = begin;
        for (; i + kLanes <= end; i += kLanes) {
            fetch_ahead(x.data() + i), fetch_ahead(base.data() + i), fetch_ahead(delta.data() + i);
            const auto at = Ops::load(x.data() + i), other = Ops::load(delta.data() + i);
            const auto moved = Ops::sub(at, Ops::load(base.data() + i));
            x2 = Ops::add_products(x2, at, at);
            moved2 = Ops::add_products(moved2, moved, moved);
            delta2 = Ops::add_products(delta2, other, other);
            product = Ops::add_products(product, moved, other);
        }
        double lane[4][kLanes];
        Ops::spill(x2, lane[0]), Ops::spill(moved2, lane[1]), Ops::spill(delta2, lane[2]), Ops::spill(product, lane[3]);
        for (std::size_t j = 0; i < end; ++i, ++j) {
            const double at = static_cast<double>(x[i]), moved = static_cast<double>(x[i] - base[i]), other = static_cast<double>(delta[i]);
            lane[0][j] = Ops::fma1(at, at, lane[0][j]);
            lane[1][j] = Ops::fma1(moved, moved, lane[1][j]);
            lane[2][j] = Ops::fma1(other, other, lane[2][j]);
            lane[3][j] = Ops::fma1(moved, other, lane[3][j]);
        }
        for (std::size_t k = 0; k < 4; ++k) total[k] += add_lanes(lane[k]);
    }
    return {total[0], total[1], total[2], total[3]};
}

template <typename Real>
Movement movement_avx2(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta);
template <typename Real>
double weighted_sum_avx2(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from);
template <typename Real>
double dot_avx2(std::span<const Real> a, std::span<const Real> b);

/// weighted_sum of the vectors' elements from, from + 1, .. as many as `out` has; sizes are not checked.
template <typename Real>
double weighted_sum_from(std::span<const double> weights, std::span<const Real* const> vectors, std::size_t from, std::span<Real> out,
                         InstructionSet isa);

}  // namespace fedbench::lanes
