// Checks of a restored state: a checksum shows accidents, not malice, so whatever is a size or a place is compared before it is used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fedbench/scheduler.hpp"

namespace fedbench {

/// Throws std::invalid_argument unless `ok`; `what` names the part of the state.
inline void require_restored(bool ok, const char* what) {
    if (!ok) throw std::invalid_argument(std::string("restore: forged state: ") + what + " does not fit");
}

/// A scheduler whose own members have been checked, for the checks of its policy.
class Restored {
public:
    explicit Restored(const Scheduler& s) : scheduler(s), clients(s.system().clients), is_open_(s.open_slots()) {}

    bool is_slot(Scheduler::Slot slot) const { return slot < is_open_.size(); }
    /// An open job of that client. The jobs of a plan that has ended are closed, and their slots are still named.
    bool is_job(Scheduler::Slot slot, std::uint32_t client) const { return is_live(slot) && scheduler.job(slot).client == client; }
    bool is_live(Scheduler::Slot slot) const { return is_slot(slot) && (is_open_[slot] || scheduler.finished()); }

    /// Jobs that wait for an update.
    void require_live(const std::vector<Scheduler::Slot>& slots, const char* what) const {
        require_restored(std::all_of(slots.begin(), slots.end(), [&](auto slot) { return is_live(slot); }), what);
    }
    void require_clients(const std::vector<std::uint32_t>& names, const char* what) const {
        require_restored(std::all_of(names.begin(), names.end(), [&](auto name) { return name < clients; }), what);
    }
    /// Clients, none of them twice.
    void require_distinct(const std::vector<std::uint32_t>& names, const char* what) const {
        std::vector<char> is_named(clients, 0);
        for (std::uint32_t name : names) require_restored(name < clients && is_named[name]++ == 0, what);
    }
    template <typename T>
    void require_per_client(const std::vector<T>& values, const char* what) const {
        require_restored(values.size() == clients, what);
    }
    /// Slots by client, or `none`.
    void require_own_jobs(const std::vector<Scheduler::Slot>& slots, Scheduler::Slot none, const char* what) const {
        require_per_client(slots, what);
        for (std::uint32_t client = 0; client < clients; ++client) require_restored(slots[client] == none || is_slot(slots[client]), what);
        for (std::uint32_t client = 0; client < clients && !scheduler.finished(); ++client)
            require_restored(slots[client] == none || is_job(slots[client], client), what);
    }
    /// Copies of the members of a cohort, of which `awaited` are under way, and what has arrived: at most `most` entries.
    void require_cohort(const std::vector<std::uint32_t>& distinct, const std::vector<std::uint32_t>& copies, std::size_t awaited,
                        std::size_t arrived, std::size_t most) const {
        require_per_client(copies, "copies");
        require_distinct(distinct, "cohort");
        std::size_t under_way = 0, entries = arrived;
        for (std::uint32_t count : copies) entries += count, under_way += count > 0;
        std::size_t named = 0;
        for (std::uint32_t client : distinct) named += copies[client] > 0;
        require_restored(under_way == awaited && named == awaited && entries <= most, "cohort");
    }

    const Scheduler& scheduler;
    const std::uint32_t clients;

private:
    std::vector<char> is_open_;
};

}  // namespace fedbench
