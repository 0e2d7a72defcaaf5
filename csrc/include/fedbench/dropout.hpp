// Jobs that drop out: they are lost on their own, whatever the availability of their clients.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fedbench/philox.hpp"

namespace fedbench {

/// The probability that a job is lost, one for all clients or one per client. Throws
/// std::invalid_argument unless all are in [0, 1] and some client has less than 1.
class Dropout {
public:
    /// No job is lost.
    Dropout() = default;
    explicit Dropout(std::vector<double> probability);

    bool is_off() const { return probability_.empty(); }
    void check_clients(std::uint32_t clients) const;

    /// Returns the nanoseconds from its start at which job k of `client` is lost, if it is: u *
    /// run, where u is uniform on [0, 1) and `run` is how long the job would take. The draw is
    /// keyed by (seed, client, k).
    std::optional<std::int64_t> draw(std::uint64_t seed, std::uint32_t client, std::uint32_t k, std::int64_t run) const;

private:
    std::vector<double> probability_;  // empty: off
};

}  // namespace fedbench
