// The largest element of a row, and the part of a vector at its end.
#pragma once

#include <type_traits>

#include "lanes_math.hpp"

namespace fedbench::distillation {
namespace {

template <typename Real>
struct Peak {
    Real value;
    std::int64_t index;
};

/// Largest element, the first of equals. With NaN: some index in the row.
template <typename Real>
Peak<Real> peak_of(const Real* row, std::size_t classes) {
    using L = Lanes<Real>;
    Peak<Real> peak{row[0], 0};
    std::size_t i = 0;
    if (classes >= L::width) {
        typename L::V best = load(row);
        typename L::Index where = L::iota, here = L::iota;
        for (i = L::width; i + L::width <= classes; i += L::width) {
            here += static_cast<int>(L::width);
            const typename L::V v = load(row + i);
            where = v > best ? here : where;
            best = v > best ? v : best;
        }
        peak = {best[0], where[0]};
        for (std::size_t j = 1; j < L::width; ++j)
            if (best[j] > peak.value || (best[j] == peak.value && where[j] < peak.index)) peak = {best[j], where[j]};
    }
    for (; i < classes; ++i)
        if (row[i] > peak.value) peak = {row[i], static_cast<std::int64_t>(i)};
    return peak;
}

/// The same value without its place.
template <typename Real>
Real largest_of(const Real* row, std::size_t classes) {
    using L = Lanes<Real>;
    Real largest = row[0];
    std::size_t i = 0;
    if (classes >= L::width) {
        typename L::V best = load(row);
        for (i = L::width; i + L::width <= classes; i += L::width) {
            const typename L::V v = load(row + i);
            best = v > best ? v : best;
        }
        largest = best[0];
        for (std::size_t j = 1; j < L::width; ++j) largest = best[j] > largest ? best[j] : largest;
    }
    for (; i < classes; ++i) largest = row[i] > largest ? row[i] : largest;
    return largest;
}

/// Up to one vector of a row; what is behind the end is `fill`.
template <typename Real>
[[gnu::always_inline]] inline typename Lanes<Real>::V load_part(const Real* p, std::size_t count, Real fill) {
    if (count >= Lanes<Real>::width) return load(p);
    Real padded[Lanes<Real>::width];
    for (std::size_t j = 0; j < Lanes<Real>::width; ++j) padded[j] = j < count ? p[j] : fill;
    return load(padded);
}

template <typename Real>
[[gnu::always_inline]] inline void store_part(Real* p, std::size_t count, typename Lanes<Real>::V v) {
    if (count >= Lanes<Real>::width) return store(p, v);
    for (std::size_t j = 0; j < count; ++j) p[j] = v[j];
}

/// Lanes beyond `count` become 0.
template <typename Real>
[[gnu::always_inline]] inline typename Lanes<Real>::V keep(typename Lanes<Real>::V v, std::size_t count) {
    using L = Lanes<Real>;
    using Signed = std::conditional_t<sizeof(Real) == 4, std::int32_t, std::int64_t>;
    return count >= L::width ? v : (L::iota < static_cast<Signed>(count) ? v : typename L::V{});
}

}  // namespace
}  // namespace fedbench::distillation
