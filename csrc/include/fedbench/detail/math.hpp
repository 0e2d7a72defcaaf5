// Elementary functions with the same bits on every machine.
//
// libm's exp and log differ between libraries and instruction sets in the last bit; a plan must
// not. These use only IEEE +, -, *, /, which round correctly everywhere (the build forbids
// contraction and fast-math). Accuracy: about 1 ulp.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace fedbench {

inline constexpr double kLn2High = 6.93147180369123816490e-01;  // the upper 33 bits of ln 2: n * kLn2High is exact
inline constexpr double kLn2Low = 1.90821492927058770002e-10;   // the rest
inline constexpr double kInverseLn2 = 1.44269504088896338700e+00;

/// The m in [sqrt(1/2), sqrt(2)) of a positive finite x = 2^exponent m; exact.
inline double mantissa_of(double x, int& exponent) {
    const double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
    if (mantissa >= 0.70710678118654752440) return mantissa;
    exponent -= 1;
    return mantissa * 2;
}

/// Natural logarithm of a positive finite x; log(0) = -infinity, log(x < 0) = NaN.
/// With x = 2^e m, ln m = 2 artanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716, odd series to s^23.
inline double portable_log(double x) {
    if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (std::isinf(x)) return x;
    int exponent = 0;
    const double mantissa = mantissa_of(x, exponent);
    const double s = (mantissa - 1) / (mantissa + 1);
    const double z = s * s;
    double series = 0;
    for (int odd = 23; odd >= 3; odd -= 2) series = (series + 1.0 / odd) * z;
    const double log_mantissa = 2 * s + 2 * s * series;
    return exponent * kLn2High + (log_mantissa + exponent * kLn2Low);
}

/// e^x; overflows to infinity, underflows to 0. x = n ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r to r^14.
inline double portable_exp(double x) {
    if (std::isnan(x)) return x;
    if (x > 709.8) return std::numeric_limits<double>::infinity();
    if (x < -745.2) return 0;
    const double n = std::nearbyint(x * kInverseLn2);
    const double r = (x - n * kLn2High) - n * kLn2Low;
    double series = 1;
    for (int order = 14; order >= 1; --order) series = 1 + series * r / order;
    return std::ldexp(series, static_cast<int>(n));  // exact unless the result is subnormal
}

}  // namespace fedbench
