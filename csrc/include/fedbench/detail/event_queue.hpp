// The virtual clock's event queue: a 4-ary heap ordered by (time, phase, client).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fedbench/detail/node_memory.hpp"

namespace fedbench {

/// The kinds of events, in the order in which they happen inside one instant. The order is that of
/// the conformance format, section 2, with absence between. A version on which the server has
/// worked exists throughout the instant at which it is done. A run that ends when its client leaves
/// has ended in time; a client that returns may replace a job lost at that instant; an arrival at a
/// round's deadline counts.
enum class Phase : std::uint32_t {
    updated = 0,  ///< the server has done the work of an update
    downloaded = 1,
    run_end = 2,
    returned = 3,  ///< a client that is waited for is back
    lost = 4,      ///< a job is lost
    arrival = 5,
    deadline = 6,  ///< a round closes
    dispatch = 7,
};

/// An event in 16 bytes. `order` holds phase (3 bits), client (31 bits) and the job's slot (30
/// bits), so that one comparison of (time, order) decides.
struct Event {
    static constexpr std::uint32_t kMaxSlot = 0x3fffffff;

    std::int64_t time;  ///< nanoseconds
    std::uint64_t order;

    Event() = default;
    Event(std::int64_t when, Phase phase, std::uint32_t client, std::uint32_t slot)
        : time(when), order(std::uint64_t{static_cast<std::uint32_t>(phase)} << 61 | std::uint64_t{client} << 30 | slot) {}
    Phase phase() const { return static_cast<Phase>(order >> 61); }
    std::uint32_t client() const { return static_cast<std::uint32_t>(order >> 30) & 0x7fffffff; }
    std::uint32_t slot() const { return static_cast<std::uint32_t>(order) & kMaxSlot; }
    /// Without a branch, since in a heap the result of this comparison cannot be predicted.
    friend bool operator<(const Event& a, const Event& b) {
        return static_cast<bool>((a.time < b.time) | ((a.time == b.time) & (a.order < b.order)));
    }
};

/// Min-heap. push and pop are O(log n); two equal events are interchangeable, so the order of pops
/// is unique.
///
/// A pop leaves a hole at the root that the next push fills. A simulation pops one event and pushes
/// its successor, so the pair is one walk down the heap.
class EventQueue {
public:
    bool empty() const { return heap_.size() == (hole_ ? 1 : 0); }
    std::size_t size() const { return heap_.size() - (hole_ ? 1 : 0); }

    const Event& top() const {
        if (!hole_) return heap_.front();
        const Event* least = &heap_[1];  // the hole's least child
        for (std::size_t c = 2; c < heap_.size() && c < 5; ++c) least = heap_[c] < *least ? &heap_[c] : least;
        return *least;
    }

    void clear() {
        heap_.clear();
        hole_ = false;
    }

    template <typename Gone>
    void erase_if(Gone gone) {
        fill_hole();
        std::erase_if(heap_, gone);
        std::sort(heap_.begin(), heap_.end());  // a sorted array is a heap
    }

    void push(Event event) {
        if (hole_) {
            hole_ = false;
            sift_down(event);
            return;
        }
        std::size_t place = heap_.size();
        heap_.push_back(event);
        while (place > 0) {
            const std::size_t parent = (place - 1) / 4;
            if (!(event < heap_[parent])) break;
            heap_[place] = heap_[parent];
            place = parent;
        }
        heap_[place] = event;
    }

    Event pop() {
        fill_hole();
        hole_ = true;
        return heap_.front();
    }

private:
    static constexpr std::size_t kNear = 256;  ///< below this, nodes and what is under them stay in the first-level caches

    void fill_hole() {
        if (!hole_) return;
        hole_ = false;
        const Event last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) sift_down(last);
    }

    /// Puts `event` into the root's place or below.
    void sift_down(const Event event) {
        Event* const heap = heap_.data();
        const std::size_t n = heap_.size();
        std::size_t place = 0;
        for (;;) {
            const std::size_t child = 4 * place + 1;
            if (child >= n) break;
            if (place >= kNear && 4 * child + 16 < n)  // four siblings' children, four cache lines, come while the least sibling is sought
                for (std::size_t line = 0; line < 4; ++line) __builtin_prefetch(heap + 4 * (child + line) + 1);
            std::size_t least = child;
            if (child + 4 <= n) {
                const std::size_t a = child + (heap[child + 1] < heap[child]);
                const std::size_t b = child + 2 + (heap[child + 3] < heap[child + 2]);
                least = heap[b] < heap[a] ? b : a;
            } else {
                for (std::size_t c = child + 1; c < n; ++c) least = heap[c] < heap[least] ? c : least;
            }
            if (!(heap[least] < event)) break;
            heap[place] = heap[least];
            place = least;
        }
        heap[place] = event;
    }

    std::vector<Event, NodeMemory<Event>> heap_;
    bool hole_ = false;
};

}  // namespace fedbench
