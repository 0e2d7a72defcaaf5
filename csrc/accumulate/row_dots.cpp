#include <cmath>
#include <stdexcept>
#include <string>

#include "fedbench/accumulate.hpp"

namespace fedbench {
namespace {

constexpr std::size_t kStep = 4;

/// Adds the products behind the last whole step.
double with_rest(double sum, const double* a, const double* x, std::size_t count) {
    switch (count) {
        case 1:
            return std::fma(a[0], x[0], sum);
        case 2:
            return sum + std::fma(a[0], x[0], a[1] * x[1]);
        case 3:
            return sum + std::fma(a[2], x[2], std::fma(a[0], x[0], a[1] * x[1]));
        default:
            return sum;
    }
}

/// Product i goes to chain i modulo their count, with one rounding or with two.
template <std::size_t chains, bool fused>
double row_dot(const double* a, const double* x, std::size_t n) {
    const std::size_t whole = n / kStep * kStep;
    double sum[chains] = {};
    for (std::size_t i = 0; i < whole; i += chains)
        for (std::size_t j = 0; j < chains; ++j) sum[j] = fused ? std::fma(a[i + j], x[i + j], sum[j]) : sum[j] + a[i + j] * x[i + j];
    const double total = chains == kStep ? (sum[0] + sum[2]) + (sum[1] + sum[3]) : sum[0] + sum[1];
    return with_rest(total, a + whole, x + whole, n - whole);
}

double only_row_dot(const double* a, const double* x, std::size_t n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum = std::fma(a[i], x[i], sum);
    return sum;
}

}  // namespace

void row_dots(std::span<const double> matrix, std::span<const double> vector, std::span<double> out) {
    const std::size_t rows = out.size(), n = vector.size(), fours = rows / kStep * kStep, pairs = rows / 2 * 2;
    if (matrix.size() != rows * n)
        throw std::invalid_argument("row_dots: expected " + std::to_string(rows) + " rows of " + std::to_string(n) + " numbers, got " +
                                    std::to_string(matrix.size()) + " numbers");
    for (std::size_t r = 0; r < rows; ++r) {
        const double *const a = matrix.data() + r * n, *const x = vector.data();
        if (rows == 1) out[r] = only_row_dot(a, x, n);
        else if (r < fours) out[r] = row_dot<kStep, true>(a, x, n);
        else if (r < pairs) out[r] = row_dot<2, false>(a, x, n);
        else out[r] = row_dot<kStep, false>(a, x, n);
    }
}

}  // namespace fedbench
