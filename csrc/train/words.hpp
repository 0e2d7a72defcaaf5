// The words that a job draws for its dropout masks.
#pragma once

#include <cstdint>
#include <span>

#include "fedbench/philox.hpp"
#include "tiles.hpp"

namespace fedbench::train {
namespace {

/// The words of a random stream, many at a time; fedbench::RandomStream hands out the same ones.
class Words {
public:
    Words(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::uint64_t skip = 0)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          k_(k),
          client_(client),
          purpose_(static_cast<std::uint32_t>(purpose)),
          next_(skip) {}

    /// Returns the next words, at least one and at most `wanted`, valid until the next call.
    std::span<const std::uint32_t> next(std::size_t wanted) {
        if (next_ < begin_ || next_ >= begin_ + kWords) draw(next_ / kWords * kWords);
        const std::size_t at = next_ - begin_, count = std::min(wanted, kWords - at);
        next_ += count;
        return {word_ + at, count};
    }

private:
    static constexpr std::size_t kBlocks = 16, kWords = 4 * kBlocks;

    typedef std::uint64_t Halves __attribute__((vector_size(kBytes)));  // numbers below 2^32

    /// Draws sixteen blocks of philox4x32, side by side.
    void draw(std::uint64_t begin) {
        constexpr std::size_t lanes = kBytes / sizeof(std::uint64_t), n = kBlocks / lanes;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        Halves a[n] = {}, b[n], c[n], d[n];
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = 0; i < lanes; ++i) a[j][i] = (begin / 4 + j * lanes + i) & low;
            b[j] = Halves{} + k_, c[j] = Halves{} + client_, d[j] = Halves{} + purpose_;
        }
        std::uint32_t key[2] = {key_[0], key_[1]};
        for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma GCC unroll 8
            for (std::size_t j = 0; j < n; ++j) {
                const Halves x = a[j] * kPhiloxMultiplier[0], y = c[j] * kPhiloxMultiplier[1];
                a[j] = y >> 32 ^ b[j] ^ key[0], b[j] = y & low;
                c[j] = x >> 32 ^ d[j] ^ key[1], d[j] = x & low;
            }
            key[0] += kPhiloxWeyl[0], key[1] += kPhiloxWeyl[1];
        }
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t i = 0; i < lanes; ++i) {
                std::uint32_t* const block = word_ + 4 * (j * lanes + i);
                block[0] = static_cast<std::uint32_t>(a[j][i]), block[1] = static_cast<std::uint32_t>(b[j][i]);
                block[2] = static_cast<std::uint32_t>(c[j][i]), block[3] = static_cast<std::uint32_t>(d[j][i]);
            }
        begin_ = begin;
    }

    std::uint32_t key_[2], k_, client_, purpose_;
    std::uint64_t next_, begin_ = ~std::uint64_t{0} - kWords;
    std::uint32_t word_[kWords];
};

}  // namespace
}  // namespace fedbench::train
