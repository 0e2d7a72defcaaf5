// Collects what has arrived since the last update, and decides whether it makes the next one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "checks.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

/// The buffer is full when it holds `size` jobs. With `harmonic` = S > 0 it is full when the
/// harmonic mean of the clients' shares B_i is at least S / N, that is, when every B_i >= 1 and S *
/// sum 1/B_i <= N^2 [Malenia SGD]. The sum is made afresh each time, in the order of the clients.
class Arrivals {
public:
    Arrivals(std::uint32_t size, double harmonic, std::uint32_t clients) : size_(size), harmonic_(harmonic) {
        if (size < 1) throw std::invalid_argument("stream: buffer_size must be >= 1, got 0");
        if (harmonic != 0 && !(harmonic >= 1 && std::isfinite(harmonic)))
            throw std::invalid_argument("stream: with close harmonic, buffer_size must be a number >= 1, got " + number(harmonic));
        if (harmonic > 0) shares_.assign(clients, 0);
    }

    void add(std::uint32_t client, Scheduler::Slot slot) {
        slots_.push_back(slot);
        if (harmonic_ > 0 && shares_[client]++ == 0) ++sharing_;
    }

    bool is_full() const { return harmonic_ > 0 ? is_balanced() : slots_.size() == size_; }
    const std::vector<Scheduler::Slot>& slots() const { return slots_; }

    void clear() {
        slots_.clear();
        std::fill(shares_.begin(), shares_.end(), 0);
        sharing_ = 0;
    }

private:
    static constexpr double kSlack = 1e-12;  ///< relative: equality closes the buffer, whatever its rounding

    bool is_balanced() const {
        if (sharing_ < shares_.size()) return false;
        double sum = 0;
        for (std::uint32_t share : shares_) sum += 1.0 / share;
        const auto n = static_cast<double>(shares_.size());
        return harmonic_ * sum <= n * n * (1 + kSlack);
    }

    std::uint32_t size_;
    double harmonic_;
    std::vector<Scheduler::Slot> slots_;
    std::vector<std::uint32_t> shares_;  // by client, if they matter
    std::size_t sharing_ = 0;            // clients with a share
};

}  // namespace fedbench
