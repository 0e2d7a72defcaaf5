// Counter-based random streams: Philox4x32-10 (Salmon et al., SC 2011).
//
// Layout, part of the determinism contract. Every number is a function of
//     key     = (seed low word, seed high word)
//     counter = (draw, k, client, purpose)         four 32-bit words, in this order
// so no draw depends on what else was drawn, in which order or by which thread. `draw` counts
// blocks of four 32-bit words inside one stream; `k` is the client's job counter (or a round, a
// tensor, ...: see Purpose); a stream hands out its words in order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fedbench/detail/math.hpp"

namespace fedbench {

/// What a stream is for: the fourth counter word. Values are frozen: changing one changes every
/// published run.
enum class Purpose : std::uint32_t {
    partition = 1,      ///< client 0, k = step of the partition
    speed = 2,          ///< per client, k 0
    compute = 3,        ///< per client and job k
    download = 4,       ///< per client and job k
    upload = 5,         ///< per client and job k
    steps = 6,          ///< per client and job k
    selection = 7,      ///< client 0, k = round
    initial = 8,        ///< client 0, k 0: the clients that a stream dispatches at time 0
    replacement = 9,    ///< client 0, k 0: one endless stream of replacement draws
    parameters = 10,    ///< client 0, k = index of the parameter tensor (x0)
    data_order = 11,    ///< per client and job k
    dropout = 12,       ///< per client and job k
    module_seed = 13,   ///< per client and job k: seed of the forked generator of a foreign module
    evaluation = 14,    ///< client 0, k 0: the fixed examples of the training loss
    holdout = 15,       ///< client 0, k = class: validation and public sets
    availability = 16,  ///< per client and stay k
    loss = 17,          ///< per client and job k: whether it is lost, and when
    rarity = 18,        ///< per client, k 0: is it rarely there?
    augmentation = 19,  ///< per client and job k: how images are cropped and mirrored
};

inline constexpr std::uint32_t kPhiloxMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr std::uint32_t kPhiloxWeyl[2] = {0x9E3779B9, 0xBB67AE85};
inline constexpr int kPhiloxRounds = 10;

/// One block: four independent 32-bit words for one counter value.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < kPhiloxRounds; ++round) {
        const std::uint64_t a = std::uint64_t{kPhiloxMultiplier[0]} * counter[0];
        const std::uint64_t b = std::uint64_t{kPhiloxMultiplier[1]} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key[0] += kPhiloxWeyl[0];
        key[1] += kPhiloxWeyl[1];
    }
    return counter;
}

/// A stream of words for one (seed, purpose, client, k). Cheap to construct, copyable; a copy
/// continues independently.
class RandomStream {
public:
    RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t client = 0, std::uint32_t k = 0)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          counter_{0, k, client, static_cast<std::uint32_t>(purpose)} {}

    std::uint32_t word() {
        if (used_ == 4) {
            block_ = philox4x32(counter_, key_);
            ++counter_[0];
            used_ = 0;
        }
        return block_[used_++];
    }

    /// Uniform on [0, 1) with 53 bits: the first word gives the high, the second the low bits.
    double uniform() {
        const std::uint64_t high = word();
        const std::uint64_t low = word();
        return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
    }

    /// Uniform on {0, .., n - 1} for n >= 1, unbiased (Lemire's multiply-and-reject on 32-bit
    /// words).
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = std::uint64_t{word()} * n;
        if (static_cast<std::uint32_t>(product) < n) {
            const std::uint32_t threshold = -n % n;
            while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{word()} * n;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }

    /// Exponential with mean 1: -ln(1 - u).
    double exponential() { return -portable_log(1 - uniform()); }

    /// Standard normal by Marsaglia's polar method; the second value of a pair is discarded, so one
    /// call uses whole pairs.
    double normal() {
        for (;;) {
            const double a = 2 * uniform() - 1;
            const double b = 2 * uniform() - 1;
            const double s = a * a + b * b;
            if (s > 0 && s < 1) return a * std::sqrt(-2 * portable_log(s) / s);
        }
    }

    /// Fisher-Yates from the front: element i is swapped with one drawn from i .. n - 1.
    template <typename Integer>
    void shuffle(std::span<Integer> items) {
        shuffle(items, 0, items.size());
    }
    /// The part of a shuffle that decides about the elements begin .. end - 1.
    template <typename Integer>
    void shuffle(std::span<Integer> items, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end && i + 1 < items.size(); ++i)
            std::swap(items[i], items[i + below(static_cast<std::uint32_t>(items.size() - i))]);
    }

private:
    std::array<std::uint32_t, 2> key_;
    std::array<std::uint32_t, 4> counter_;
    std::array<std::uint32_t, 4> block_{};
    std::uint32_t used_ = 4;
};

/// The most that one call may draw: 2 GiB of rows, in a few seconds. A call that draws cannot be
/// interrupted.
inline constexpr std::int64_t kMostDraws = std::int64_t{1} << 28;

/// Mini-batches of one job: consecutive slices of a permutation of the client's n examples; the
/// short last slice is used, then a new permutation follows from the same stream. A batch larger
/// than n becomes n. `offsets` has steps + 1 entries into `rows`. Without `shuffled` every
/// permutation is 0, 1, ..
struct Batches {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> offsets;
};

/// Throws std::invalid_argument for no examples, batches of none, a negative number of steps, and
/// more rows than kMostDraws.
inline Batches draw_batches(RandomStream stream, std::uint32_t n, std::uint32_t batch, std::int64_t steps, bool shuffled = true) {
    if (n == 0) throw std::invalid_argument("data order: a client needs at least one example, got 0");
    if (batch == 0) throw std::invalid_argument("data order: batch_size must be >= 1, got 0");
    if (steps < 0) throw std::invalid_argument("data order: steps must be >= 0, got " + std::to_string(steps));
    batch = std::min(batch, n);
    if (n > kMostDraws || steps > kMostDraws / batch)
        throw std::invalid_argument("data order: at most " + std::to_string(kMostDraws) + " rows are drawn in one call, got " +
                                    std::to_string(steps) + " steps of " + std::to_string(batch) + " of " + std::to_string(n) +
                                    " examples");
    Batches out;
    out.offsets.push_back(0);
    std::vector<std::int64_t> order(n);
    std::uint32_t next = n;
    for (std::int64_t step = 0; step < steps; ++step) {
        if (next == n) {
            std::iota(order.begin(), order.end(), 0);
            next = 0;
        }
        const std::uint32_t stop = std::min(next + batch, n);
        if (shuffled) stream.shuffle(std::span(order), next, stop);  // no further than is needed
        out.rows.insert(out.rows.end(), order.begin() + next, order.begin() + stop);
        out.offsets.push_back(static_cast<std::int64_t>(out.rows.size()));
        next = stop;
    }
    return out;
}

}  // namespace fedbench
