// Reductions over model vectors: the same bits on every instruction set, and what the contract
// says.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "fedbench/accumulate.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

constexpr std::size_t kLengths[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 63, 100, 4095, 4096, 4097, 8201};
constexpr std::size_t kCounts[] = {0, 1, 2, 3, 5, 17};

bool has_avx2() { return instruction_set() != InstructionSet::portable; }

template <typename Real>
std::vector<Real> random_vector(RandomStream& stream, std::size_t d) {
    std::vector<Real> values(d);
    for (Real& v : values) v = static_cast<Real>(std::ldexp(stream.normal(), static_cast<int>(stream.below(20)) - 10));
    return values;
}

template <typename Real>
struct Case {
    std::vector<double> weights;
    std::vector<std::vector<Real>> rows;
    std::vector<const Real*> pointers;

    Case(std::uint64_t seed, std::size_t count, std::size_t d) {
        RandomStream stream(seed, Purpose::parameters);
        for (std::size_t k = 0; k < count; ++k) {
            weights.push_back(stream.normal());
            rows.push_back(random_vector<Real>(stream, d));
        }
        for (const auto& row : rows) pointers.push_back(row.data());
    }
};

template <typename Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

/// The contract's sentence, element by element.
template <typename Real>
std::vector<Real> plain_weighted_sum(const Case<Real>& c, std::size_t d) {
    std::vector<Real> out(d);
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t k = 0; k < c.rows.size(); ++k) out[i] = std::fma(static_cast<Real>(c.weights[k]), c.rows[k][i], out[i]);
    return out;
}

template <typename Real>
double plain_dot(const std::vector<Real>& a, const std::vector<Real>& b) {
    double result = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += 4096) {
        double lane[8] = {};
        for (std::size_t i = begin; i < a.size() && i < begin + 4096; ++i)
            lane[i % 8] = std::fma(static_cast<double>(a[i]), static_cast<double>(b[i]), lane[i % 8]);
        result += ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
    return result;
}

template <typename Real>
void same_bits_everywhere(const std::string& type) {
    std::vector<InstructionSet> sets{InstructionSet::portable};
    if (has_avx2()) sets.push_back(InstructionSet::avx2);
    for (std::size_t d : kLengths)
        for (std::size_t count : kCounts) {
            if (d > 200 && count > 3) continue;  // long vectors with few rows: seconds under the sanitizers
            const Case<Real> c(d * 31 + count, count, d);
            const std::vector<Real> expected = plain_weighted_sum(c, d);
            const double norm2 = plain_dot(expected, expected);
            for (InstructionSet isa : sets) {
                const std::string where = type + " " + name_of(isa) + ", K = " + std::to_string(count) + ", d = " + std::to_string(d);
                std::vector<Real> out(d, Real{99});
                const double got = weighted_sum<Real>(c.weights, c.pointers, out, isa);
                check(same_bits(out, expected), "weighted_sum " + where);
                check(got == norm2, "weighted_sum returns the squared norm, " + where);
                if (count < 2) continue;
                check(dot<Real>(c.rows[0], c.rows[1], isa) == plain_dot(c.rows[0], c.rows[1]), "dot " + where);
                check(dot<Real>(c.rows[0], c.rows[0], isa) == plain_dot(c.rows[0], c.rows[0]), "dot of a vector with itself " + where);
            }
        }
}

/// Unaligned slices: element 1 of an allocation.
template <typename Real>
void unaligned() {
    RandomStream stream(6, Purpose::parameters);
    const std::vector<Real> a = random_vector<Real>(stream, 130), b = random_vector<Real>(stream, 130);
    const std::vector<Real> left(a.begin() + 1, a.end()), right(b.begin() + 1, b.end());
    const std::span<const Real> x(a.data() + 1, 129), y(b.data() + 1, 129);
    check(dot<Real>(x, y) == plain_dot(left, right), "unaligned vectors");
}

/// Results of 16 MiB and more go past the caches if they start at 16 bytes: at 0, at one element,
/// and with a rest.
template <typename Real>
void large() {
    const std::size_t d = (std::size_t{16} << 20) / sizeof(Real) + 13;
    const Case<Real> c(7, 1, d);
    const std::vector<Real> expected = plain_weighted_sum(c, d);
    const double norm2 = plain_dot(expected, expected);
    for (std::size_t offset : {0, 1}) {
        std::vector<Real> out(d + 16, Real{99});
        const double got = weighted_sum<Real>(c.weights, c.pointers, std::span(out).subspan(offset, d));
        const std::vector<Real> result(out.begin() + static_cast<std::ptrdiff_t>(offset),
                                       out.begin() + static_cast<std::ptrdiff_t>(offset + d));
        check(same_bits(result, expected) && got == norm2, "a large sum, from element " + std::to_string(offset));
        out.erase(out.begin() + static_cast<std::ptrdiff_t>(offset), out.begin() + static_cast<std::ptrdiff_t>(offset + d));
        check(out == std::vector<Real>(16, Real{99}), "nothing beside it");
    }
}

template <typename Real>
void specials(InstructionSet isa) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
    for (std::size_t place : {0, 5, 8, 16}) {  // in a whole group of eight and in the rest
        std::vector<Real> a(17, Real{1}), b(17, Real{2}), out(17);
        const std::vector<double> weights{1, 0.5};
        const std::vector<const Real*> rows{a.data(), b.data()};
        a[place] = infinity;
        check(std::isinf(weighted_sum<Real>(weights, rows, out, isa)), "the norm of a vector with infinity is infinite");
        bool rest = true;
        for (std::size_t i = 0; i < 17; ++i) rest = rest && (i == place ? out[i] == infinity : out[i] == 2);
        check(rest, "infinity stays in its place");
        b[place] = -infinity;
        check(std::isnan(weighted_sum<Real>(weights, rows, out, isa)) && std::isnan(out[place]), "infinity - infinity is NaN");
        a[place] = nan;
        b[place] = 2;
        check(std::isnan(weighted_sum<Real>(weights, rows, out, isa)) && std::isnan(out[place]), "NaN propagates");
        check(std::isnan(dot<Real>(a, b, isa)) && std::isnan(dot<Real>(b, a, isa)), "NaN propagates through dot");
        const std::vector<double> zero{0, 0};
        a[place] = infinity;
        check(std::isnan(weighted_sum<Real>(zero, rows, out, isa)), "0 * infinity is NaN: a weight of 0 does not skip a vector");
    }
    const std::vector<Real> ones(11, Real{1});  // three of them in the rest
    const std::vector<const Real*> one_row{ones.data()};
    const std::vector<double> boundless{std::numeric_limits<double>::infinity()};
    std::vector<Real> boundless_out(11);
    check(std::isinf(weighted_sum<Real>(boundless, one_row, boundless_out, isa)), "an infinite weight meets no zeros behind the end");
    std::vector<Real> large(8, std::numeric_limits<Real>::max()), out(8);
    const std::vector<double> two{2};
    const std::vector<const Real*> rows{large.data()};
    check(std::isinf(weighted_sum<Real>(two, rows, out, isa)) && std::isinf(out[0]), "overflow is infinity");
}

void float32_norms_in_float64() {
    const std::vector<float> v(3, 1e30f);
    const double expected = 3 * static_cast<double>(1e30f) * static_cast<double>(1e30f);
    check(std::abs(dot<float>(v, v) / expected - 1) < 1e-15, "float32 vectors whose norm overflows float32");
}

template <typename Real>
void errors() {
    const std::vector<Real> a(3), b(4);
    std::vector<Real> out(3);
    const std::vector<const Real*> rows{a.data()};
    const std::vector<double> weights{1, 2};
    check_throws<std::invalid_argument>([&] { weighted_sum<Real>(weights, rows, out); }, "got 2 weights for 1 vectors");
    check_throws<std::invalid_argument>([&] { dot<Real>(a, b); }, "got 3 and 4");
}

void rows_and_their_products() {
    RandomStream stream(5, Purpose::parameters);
    for (std::size_t rows : {0, 1, 2, 3, 4, 5, 6, 7, 8, 23})
        for (std::size_t n : {0, 1, 2, 3, 4, 5, 6, 7, 10, 61}) {
            const auto matrix = random_vector<double>(stream, rows * n), x = random_vector<double>(stream, n);
            std::vector<double> out(rows);
            row_dots(matrix, x, out);
            for (std::size_t r = 0; r < rows; ++r) {
                long double exact = 0, size = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    const long double term = static_cast<long double>(matrix[r * n + i]) * x[i];
                    exact += term, size += std::abs(term);
                }
                const double bound = static_cast<double>(size) * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
                check(std::abs(static_cast<double>(out[r] - exact)) <= bound, "the product with row " + std::to_string(r));
            }
        }
    std::vector<double> out(2);
    check_throws<std::invalid_argument>([&] { row_dots(std::vector<double>(5), std::vector<double>(3), out); },
                                        "expected 2 rows of 3 numbers, got 5 numbers");
}

void threads() {
    const Case<float> c(7, 5, 5000);
    const std::vector<float> expected = plain_weighted_sum(c, 5000);
    std::vector<std::vector<float>> out(4, std::vector<float>(5000));
    {
        std::vector<std::jthread> workers;
        for (auto& mine : out) workers.emplace_back([&c, &mine] { weighted_sum<float>(c.weights, c.pointers, mine); });
    }
    for (const auto& mine : out) check(same_bits(mine, expected), "four threads on the same vectors");
}

}  // namespace

int main() {
    if (!has_avx2()) std::printf("accumulate: no avx2 here (or FEDBENCH_ISA=portable), only the portable code is tested\n");
    same_bits_everywhere<float>("float32");
    same_bits_everywhere<double>("float64");
    unaligned<float>();
    unaligned<double>();
    large<float>();
    large<double>();
    for (InstructionSet isa : {InstructionSet::portable, instruction_set()}) {
        specials<float>(isa);
        specials<double>(isa);
    }
    float32_norms_in_float64();
    errors<float>();
    errors<double>();
    rows_and_their_products();
    threads();
    return testing::report("accumulate");
}
