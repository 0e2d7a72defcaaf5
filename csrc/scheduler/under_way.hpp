// The clients that work, in the order in which they began: a doubly linked list in which every
// client stands at most once.
#pragma once

#include <cstdint>
#include <vector>

#include "fedbench/scheduler.hpp"

namespace fedbench {

/// Every operation is O(1). Place `clients` is the list's end, which closes the ring.
class UnderWay {
public:
    UnderWay() = default;
    explicit UnderWay(std::uint32_t clients) : before_(clients + std::size_t{1}, kAbsent), after_(before_), slot_(clients, 0) {
        before_[clients] = after_[clients] = clients;
    }

    bool holds(std::uint32_t client) const { return client < slot_.size() && after_[client] != kAbsent; }
    bool empty() const { return after_.empty() || after_.back() == end(); }
    std::uint32_t first() const { return after_.back(); }
    Scheduler::Slot slot(std::uint32_t client) const { return slot_[client]; }

    /// Adds a client at the end. A client that is in the list already leaves its place, which
    /// happens only in a forged state.
    void add(std::uint32_t client, Scheduler::Slot slot) {
        remove(client);
        slot_[client] = slot;
        join(before_.back(), client);
        join(client, end());
    }

    /// Does nothing for a client that is not in the list.
    void remove(std::uint32_t client) {
        if (!holds(client)) return;
        join(before_[client], after_[client]);
        before_[client] = after_[client] = kAbsent;
    }

private:
    static constexpr std::uint32_t kAbsent = 0xffffffff;

    std::uint32_t end() const { return static_cast<std::uint32_t>(slot_.size()); }
    void join(std::uint32_t a, std::uint32_t b) {
        after_[a] = b;
        before_[b] = a;
    }

    std::vector<std::uint32_t> before_, after_;
    std::vector<Scheduler::Slot> slot_;
};

}  // namespace fedbench
