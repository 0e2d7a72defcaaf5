// Memory for the nodes of a 4-ary heap.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fedbench {

/// An allocator of nodes of 16 bytes. Node 1 begins a cache line, so that any node's four children
/// lie in one; large heaps ask for huge pages, since a walk down touches a page per level.
template <typename Node>
struct NodeMemory {
    using value_type = Node;
    static_assert(sizeof(Node) == 16);

    Node* allocate(std::size_t count) {
        const std::size_t bytes = kBefore + count * sizeof(Node), unit = bytes < kHugePage ? kLine : kHugePage;
        const std::size_t whole = (bytes + unit - 1) / unit * unit;
        auto* const memory = static_cast<std::byte*>(std::aligned_alloc(unit, whole));
        if (memory == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
        if (unit == kHugePage) madvise(memory, whole, MADV_HUGEPAGE);  // a wish: what comes of it changes the speed only
#endif
        return reinterpret_cast<Node*>(memory + kBefore);
    }
    void deallocate(Node* nodes, std::size_t) { std::free(reinterpret_cast<std::byte*>(nodes) - kBefore); }

    friend bool operator==(NodeMemory, NodeMemory) { return true; }

private:
    static constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20, kBefore = kLine - sizeof(Node);
};

}  // namespace fedbench
