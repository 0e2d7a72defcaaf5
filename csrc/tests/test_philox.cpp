// Random streams and the portable elementary functions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/detail/power.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

using Words = std::array<std::uint32_t, 4>;

void known_answers() {  // kat_vectors of Random123
    constexpr std::uint32_t ones = 0xffffffff;
    check(philox4x32({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "zeros");
    check(philox4x32({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, "ones");
    check(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
          "digits of pi");
}

void stream_layout() {
    const std::uint64_t seed = 0x0123456789abcdef;
    RandomStream stream(seed, Purpose::upload, 7, 9);
    for (std::uint32_t draw = 0; draw < 3; ++draw) {
        const Words block = philox4x32({draw, 9, 7, 5}, {0x89abcdef, 0x01234567});
        for (std::uint32_t word : block) check(stream.word() == word, "counter = (draw, k, client, purpose), key = (low, high)");
    }
    RandomStream a(seed, Purpose::speed), b = a;
    const std::uint64_t high = a.word(), low = a.word();
    check(b.uniform() == static_cast<double>((high << 32 | low) >> 11) * 0x1p-53, "uniform: high word, low word, 53 bits");
}

/// Sum of (count - expected)^2 / expected.
double chi_square(const std::vector<int>& counts) {
    double total = 0, sum = 0;
    for (int count : counts) total += count;
    const double expected = total / static_cast<double>(counts.size());
    for (int count : counts) sum += (count - expected) * (count - expected) / expected;
    return sum;
}

void below_is_unbiased() {
    for (std::uint32_t n : {1u, 2u, 3u, 10u, 1000003u, 0x80000001u, 0xffffffffu}) {
        RandomStream stream(n, Purpose::selection);
        bool inside = true;
        for (int i = 0; i < 2000; ++i) inside = inside && stream.below(n) < n;
        check(inside, "below(n) < n, n = " + std::to_string(n));
    }
    // n = 3/4 of 2^32: multiply and shift without rejection makes multiples of 3 twice as likely as
    // the rest.
    RandomStream stream(1, Purpose::selection);
    std::vector<int> residues(3), sevenths(7);
    for (int i = 0; i < 30000; ++i) ++residues[stream.below(0xc0000000u) % 3];
    for (int i = 0; i < 70000; ++i) ++sevenths[stream.below(7)];
    check(chi_square(residues) < 27.6, "below(3 * 2^30): residues equally likely (chi-square, 2 degrees of freedom, 1e-6)");
    check(chi_square(sevenths) < 38.3, "below(7): all equally likely (6 degrees of freedom, 1e-6)");
}

void shuffle_is_uniform() {
    RandomStream stream(2, Purpose::partition);
    std::vector<std::int64_t> order(257);
    std::iota(order.begin(), order.end(), 0);
    stream.shuffle(std::span(order));
    check(!std::is_sorted(order.begin(), order.end()), "shuffle moves something");
    std::sort(order.begin(), order.end());
    bool complete = true;
    for (std::size_t i = 0; i < order.size(); ++i) complete = complete && order[i] == static_cast<std::int64_t>(i);
    check(complete, "shuffle is a permutation");

    std::map<std::array<int, 3>, int> seen;
    for (int i = 0; i < 12000; ++i) {
        std::array<int, 3> three{0, 1, 2};
        stream.shuffle(std::span<int>(three));
        ++seen[three];
    }
    std::vector<int> counts;
    for (const auto& [key, count] : seen) counts.push_back(count);
    check(counts.size() == 6 && chi_square(counts) < 35.9, "six orders of three, equally likely (5 degrees of freedom, 1e-6)");

    RandomStream untouched(3, Purpose::partition), used = untouched;
    std::vector<int> one{5}, none;
    used.shuffle(std::span(one));
    used.shuffle(std::span(none));
    check(one[0] == 5 && used.word() == untouched.word(), "shuffle of less than two draws nothing");
}

void moments_of_normal_and_exponential() {
    constexpr int n = 40000;
    RandomStream stream(4, Purpose::compute);
    double sum = 0, squares = 0, exponential = 0;
    for (int i = 0; i < n; ++i) {
        const double z = stream.normal();
        sum += z;
        squares += z * z;
    }
    for (int i = 0; i < n; ++i) exponential += stream.exponential();
    const double five_sigma = 5 / std::sqrt(static_cast<double>(n));
    check(std::abs(sum / n) < five_sigma, "normal: mean 0");
    check(std::abs(squares / n - 1) < five_sigma * std::sqrt(2.0), "normal: variance 1");
    check(std::abs(exponential / n - 1) < five_sigma, "exponential: mean 1");
}

/// Distance in units in the last place; equal infinities and two NaNs have distance 0.
std::uint64_t ulps(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<std::uint64_t>::max();
    const auto rank = [](double x) {
        const auto bits = std::bit_cast<std::int64_t>(x);
        return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
    };
    const std::int64_t x = rank(a), y = rank(b);
    return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                 : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

void elementary_functions() {
    using Limits = std::numeric_limits<double>;
    std::uint64_t worst_log = 0, worst_exp = 0;
    const auto try_log = [&](double x) { worst_log = std::max(worst_log, ulps(portable_log(x), std::log(x))); };
    const auto try_exp = [&](double x) { worst_exp = std::max(worst_exp, ulps(portable_exp(x), std::exp(x))); };
    for (int exponent = -1074; exponent <= 1023; ++exponent)
        for (double mantissa : {1.0, 1.0001, 1.25, 1.41421356, 1.41421357, 1.75, 1.9999999}) try_log(std::ldexp(mantissa, exponent));
    for (double x = 0.5; x < 2; x += 1.0 / 4096) try_log(x);
    for (double x : {Limits::denorm_min(), Limits::min(), Limits::max(), 1.0, std::nextafter(1.0, 0), std::nextafter(1.0, 2), 0.0, -0.0,
                     Limits::infinity(), 1 - 0x1p-53})
        try_log(x);
    for (double x = -745.5; x < 710; x += 1.0 / 64) try_exp(x);
    for (double x = -1; x < 1; x += 1.0 / 4096) try_exp(x);
    for (double x : {0.0, -0.0, 1e-300, -1e-300, 1e-17, -1e-17, 709.78271289338397, 709.79, 709.9, 1e308, -708.4, -744.44, -745.13, -745.2,
                     -745.3, -1e308, Limits::infinity(), -Limits::infinity()})
        try_exp(x);
    check(worst_log <= 2, "portable_log within 2 ulp, worst " + std::to_string(worst_log));
    check(worst_exp <= 2, "portable_exp within 2 ulp, worst " + std::to_string(worst_exp));
    check(std::isnan(portable_log(-1)) && std::isnan(portable_log(Limits::quiet_NaN())), "log of a negative or NaN is NaN");
    check(std::isnan(portable_exp(Limits::quiet_NaN())), "exp of NaN is NaN");
    check(portable_log(1) == 0 && portable_exp(0) == 1, "exact where it must be");
}

void powers() {
    using Limits = std::numeric_limits<double>;
    std::uint64_t worst = 0;
    for (double x : {Limits::min(), 1e-5, 0.5, 0.9999, 1.0, 1.0001, 1.41421356, 2.0, 3.0, 400.0, 1e100, Limits::max()})
        for (double y : {-2.5, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.37, 1.0, 2.0})
            if (const double libm = std::pow(x, y); libm > 0 && !std::isinf(libm)) worst = std::max(worst, ulps(portable_pow(x, y), libm));
    check(worst <= 1, "portable_pow within 1 ulp of libm, worst " + std::to_string(worst));
    check(portable_pow(4, -0.5) == 0.5 && portable_pow(3, 5) == 243 && portable_pow(10, 22) == 1e22, "exact where it can be");
    check(portable_pow(7, 0) == 1 && portable_pow(1, -1e308) == 1, "x^0 and 1^y are 1");
    check(std::isinf(portable_pow(2, 1024)) && portable_pow(2, -1080) == 0 && portable_pow(2, -1074) == Limits::denorm_min(),
          "overflow is infinity, underflow is 0");
    check(portable_pow(0, 0) == 1 && portable_pow(0, 0.5) == 0 && std::isnan(portable_pow(0, -1)), "0^y of y >= 0");
    for (double x : {-1.0, Limits::infinity(), Limits::quiet_NaN()}) check(std::isnan(portable_pow(x, 2)), "a base out of range");
    for (double y : {Limits::infinity(), Limits::quiet_NaN()})
        check(std::isnan(portable_pow(2, y)) && std::isnan(portable_pow(0, y)), "an exponent out of range");
}

void a_shuffle_may_be_made_in_parts() {
    RandomStream stream(5, Purpose::data_order, 3, 1), again = stream;
    std::vector<int> whole(11), parts(11);
    std::iota(whole.begin(), whole.end(), 0), parts = whole;
    stream.shuffle(std::span(whole));
    for (const auto& [begin, end] : {std::pair{0, 4}, {4, 4}, {4, 10}, {10, 11}})
        again.shuffle(std::span(parts), static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    check(whole == parts, "the same order");
    check(stream.word() == again.word(), "by the same draws");
}

void batches() {
    const RandomStream stream(5, Purpose::data_order, 3, 1);
    const Batches b = draw_batches(stream, 10, 4, 5);  // 4 + 4 + 2, then 4 + 4 of a new permutation
    check(b.offsets == std::vector<std::int64_t>{0, 4, 8, 10, 14, 18}, "slices, the short last one, then a new permutation");
    RandomStream again = stream;
    std::vector<std::int64_t> order(10), expected;
    for (int epoch = 0; epoch < 2; ++epoch) {
        std::iota(order.begin(), order.end(), 0);
        again.shuffle(std::span(order));
        expected.insert(expected.end(), order.begin(), order.end());
    }
    expected.resize(18);
    check(b.rows == expected, "batches are consecutive slices of permutations of one stream");
    const Batches stored = draw_batches(stream, 10, 4, 5, false);
    check(stored.offsets == b.offsets && stored.rows == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7},
          "as stored: 0, 1, .. in every pass");
    check(draw_batches(stream, 3, 8, 2).offsets == std::vector<std::int64_t>{0, 3, 6}, "n < batch: the batch is n");
    check(draw_batches(stream, 3, 3, 0).rows.empty() && draw_batches(stream, 3, 3, 0).offsets.size() == 1, "no steps, no rows");
    check_throws<std::invalid_argument>([&] { draw_batches(stream, 0, 1, 1); }, "at least one example");
    check_throws<std::invalid_argument>([&] { draw_batches(stream, 1, 0, 1); }, "batch_size");
}

}  // namespace

int main() {
    known_answers();
    stream_layout();
    below_is_unbiased();
    shuffle_is_uniform();
    moments_of_normal_and_exponential();
    elementary_functions();
    powers();
    a_shuffle_may_be_made_in_parts();
    batches();
    return testing::report("philox");
}
