// The loops behind cache.hpp: plain ones, which the compiler vectorises for the instruction set of
// the including file. The namespace is unnamed on purpose: code for different instruction sets must
// not be merged.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cached.hpp"
#include "fedbench/cache.hpp"

namespace fedbench::caching {
namespace {

inline constexpr std::size_t kBlock = 2048;  // elements: the blocks of a few vectors and rows stay in the first two caches

template <typename Real>
void scale_sum(const double* __restrict sum, double scale, Real* __restrict out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = scaled_sum<Real>(scale, sum[i]);
}

template <typename Real>
void add_difference(Real weight, const Real* __restrict vector, const Real* __restrict row, Real* __restrict out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = with_arrival(out[i], weight, vector[i], row[i]);
}

template <typename Real>
void replace(const Real* __restrict vector, Real* __restrict row, double* __restrict sum, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        sum[i] = replaced(sum[i], vector[i], row[i]);
        row[i] = vector[i];
    }
}

template <typename Real>
void update(const CacheUpdate<Real>& u, std::span<Real> out) {
    for (std::size_t begin = 0; begin < out.size(); begin += kBlock) {
        const std::size_t count = std::min(kBlock, out.size() - begin);
        double* const sum = u.sum.data() + begin;
        Real* const to = out.data() + begin;
        if (u.order != CacheOrder::newest) scale_sum(sum, u.scale, to, count);
        if (u.order == CacheOrder::deferred)
            for (std::size_t k = 0; k < u.vectors.size(); ++k)
                add_difference(static_cast<Real>(u.weights[k]), u.vectors[k] + begin, u.rows[k] + begin, to, count);
        for (std::size_t k = 0; k < u.vectors.size(); ++k) {
            if (u.order == CacheOrder::immediate)
                add_difference(static_cast<Real>(u.weights[k]), u.vectors[k] + begin, u.rows[k] + begin, to, count);
            replace(u.vectors[k] + begin, u.rows[k] + begin, sum, count);
        }
        if (u.order == CacheOrder::newest) scale_sum(sum, u.scale, to, count);
    }
}

}  // namespace
}  // namespace fedbench::caching
