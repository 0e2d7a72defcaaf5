// How long the messages of a job take in one direction.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "fedbench/durations.hpp"
#include "fedbench/traces.hpp"

namespace fedbench {

/// A duration for every (client, job), or a message over measured links, whose duration depends on
/// when the transfer starts.
class Transfer {
public:
    Transfer(Durations durations) : way_(std::move(durations)) {}
    Transfer(Traces traces) : way_(std::move(traces)) {}

    /// Returns the nanoseconds of the transfer of job k of `client` that starts at `from`. Throws
    /// as Durations::unit and Traces::takes do.
    std::int64_t takes(std::uint64_t seed, Purpose purpose, std::uint32_t client, std::uint32_t k, std::int64_t from) const {
        if (const auto* durations = std::get_if<Durations>(&way_)) return durations->unit(seed, purpose, client, k);
        return std::get_if<Traces>(&way_)->takes(client, from);
    }

    /// Whether, of two transfers of a client, the one that starts later never arrives earlier.
    bool is_in_order() const {
        const auto* traces = std::get_if<Traces>(&way_);
        return traces != nullptr ? traces->is_in_order() : is_constant();
    }
    bool is_traced() const { return std::holds_alternative<Traces>(way_); }
    /// Whether the duration is the same for all jobs of a client, whenever they start.
    bool is_constant() const { return !is_traced() && std::get_if<Durations>(&way_)->is_constant(); }
    void check_clients(std::uint32_t clients) const {
        std::visit([&](const auto& way) { way.check_clients(clients); }, way_);
    }

private:
    std::variant<Durations, Traces> way_;
};

}  // namespace fedbench
