// A fixed number of floats or doubles as one value, in as many registers as they need; users of a
// pack do not see the registers. The namespace is unnamed on purpose: see registers.hpp.
#pragma once

#include "registers.hpp"
#include "tree.hpp"

namespace fedbench::simd {
namespace {

template <typename Real, std::size_t n>
struct Pack {
    static constexpr std::size_t width = n, bytes = n * sizeof(Real) < kBytes ? n * sizeof(Real) : kBytes;
    static constexpr std::size_t in_register = bytes / sizeof(Real), parts = n / in_register;
    using V = Vector<Real, bytes>;

    V part[parts];

    Real operator[](std::size_t j) const { return part[j / in_register][j % in_register]; }
};

/// Calls body(i) for every register i. This is no loop, since only arrays with constant indices
/// become registers.
template <typename P, typename Body>
[[gnu::always_inline]] inline void for_registers(const Body& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        (body(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::make_index_sequence<P::parts>{});
}

/// Applies f to every register of the packs.
template <typename F, typename Real, std::size_t n, typename... Packs>
[[gnu::always_inline]] inline Pack<Real, n> each(const F& f, const Pack<Real, n>& first, const Packs&... rest) {
    Pack<Real, n> result;
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) { result.part[i] = f(first.part[i], rest.part[i]...); });
    return result;
}

template <std::size_t n, typename Real>
[[gnu::always_inline]] inline Pack<Real, n> broadcast(Real value) {
    Pack<Real, n> result;
    for_registers<Pack<Real, n>>([&](auto i)
                                     __attribute__((always_inline)) { result.part[i] = broadcast<typename Pack<Real, n>::V>(value); });
    return result;
}

template <std::size_t n, typename Real>
[[gnu::always_inline]] inline Pack<Real, n> load(const Real* p) {
    Pack<Real, n> result;
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) {
        result.part[i] = load<typename Pack<Real, n>::V>(p + i * Pack<Real, n>::in_register);
    });
    return result;
}

template <typename Real, std::size_t n>
[[gnu::always_inline]] inline void store(Real* p, const Pack<Real, n>& pack) {
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) {
        store<typename Pack<Real, n>::V>(p + i * Pack<Real, n>::in_register, pack.part[i]);
    });
}

/// The first `count` <= n numbers: what is behind them in memory is neither read nor written, and
/// they are read as 0.
template <std::size_t n, typename Real>
[[gnu::always_inline]] inline Pack<Real, n> load(const Real* p, std::size_t count) {
    constexpr std::size_t in_register = Pack<Real, n>::in_register;
    Pack<Real, n> result;
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) {
        const Lanes lanes(count > i * in_register ? count - i * in_register : 0);
        result.part[i] = load<typename Pack<Real, n>::V>(p + i * in_register, lanes);
    });
    return result;
}

template <typename Real, std::size_t n>
[[gnu::always_inline]] inline void store(Real* p, const Pack<Real, n>& pack, std::size_t count) {
    constexpr std::size_t in_register = Pack<Real, n>::in_register;
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) {
        const Lanes lanes(count > i * in_register ? count - i * in_register : 0);
        store<typename Pack<Real, n>::V>(p + i * in_register, pack.part[i], lanes);
    });
}

template <typename Real, std::size_t n>
[[gnu::always_inline]] inline void store_past(Real* p, const Pack<Real, n>& pack) {
    for_registers<Pack<Real, n>>([&](auto i)
                                     __attribute__((always_inline)) { store_past(p + i * Pack<Real, n>::in_register, pack.part[i]); });
}

template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> operator+(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    return each([](auto x, auto y) { return x + y; }, a, b);
}
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> operator-(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    return each([](auto x, auto y) { return x - y; }, a, b);
}
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> operator*(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    return each([](auto x, auto y) { return x * y; }, a, b);
}
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> operator/(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    return each([](auto x, auto y) { return x / y; }, a, b);
}

/// Returns a b + c with one rounding.
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> fma(const Pack<Real, n>& a, const Pack<Real, n>& b, const Pack<Real, n>& c) {
    return each([](auto x, auto y, auto z) { return fma(x, y, z); }, a, b, c);
}

/// a > b ? yes : no
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> where_greater(const Pack<Real, n>& a, const Pack<Real, n>& b, const Pack<Real, n>& yes,
                                                          const Pack<Real, n>& no) {
    return each([](auto x, auto y, auto u, auto v) { return x > y ? u : v; }, a, b, yes, no);
}

template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> larger(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    return each([](auto x, auto y) { return x > y ? x : y; }, a, b);
}

/// Returns a number whose bit j is set if lane j of a equals lane j of b.
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline unsigned equal_lanes(const Pack<Real, n>& a, const Pack<Real, n>& b) {
    unsigned lanes = 0;
    for_registers<Pack<Real, n>>([&](auto i) __attribute__((always_inline)) {
        lanes |= equal_lanes(a.part[i], b.part[i]) << (i * Pack<Real, n>::in_register);
    });
    return lanes;
}

/// Returns lanes first, first + 1, .. of the pack, with 0 before them.
template <typename Real, std::size_t n>
[[gnu::always_inline]] inline Pack<Real, n> from_lane(std::size_t first, const Pack<Real, n>& pack) {
    Real lane[n];
    for (std::size_t j = 0; j < n; ++j) lane[j] = static_cast<Real>(j);
    return where_greater(load<n>(lane), broadcast<n>(static_cast<Real>(first) - Real{0.5}), pack, broadcast<n>(Real{0}));
}

/// Returns the same numbers in float64.
template <std::size_t n>
[[gnu::always_inline]] inline Pack<double, n> widened(const Pack<float, n>& pack) {
    static_assert(Pack<float, n>::bytes == kBytes, "a whole number of registers");
    Pack<double, n> result;
    for_registers<Pack<float, n>>([&](auto i) __attribute__((always_inline)) {
        result.part[2 * i] = widened_half(pack.part[i], 0);
        result.part[2 * i + 1] = widened_half(pack.part[i], 1);
    });
    return result;
}
template <std::size_t n>
[[gnu::always_inline]] inline Pack<double, n> widened(const Pack<double, n>& pack) {
    return pack;
}

/// Returns the sum of all lanes, by the tree of tree.hpp.
template <std::size_t n>
[[gnu::always_inline]] inline double sum_of_lanes(const Pack<double, n>& pack) {
    double lane[n];
    store(lane, pack);
    return add_lanes(lane);
}

}  // namespace
}  // namespace fedbench::simd
