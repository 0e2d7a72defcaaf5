// Threads without work help another thread with its work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace fedbench {

/// One of `count` parts of some work.
struct Part {
    std::size_t index, count;

    /// Returns the part's range of 0 .. n - 1, as {begin, end}. Ranges begin at multiples of
    /// `step`, and some may be empty.
    std::pair<std::size_t, std::size_t> of(std::size_t n, std::size_t step = 1) const {
        const std::size_t steps = (n + step - 1) / step;
        return {std::min(n, steps * index / count * step), std::min(n, steps * (index + 1) / count * step)};
    }
};

/// The work of one thread, the leader, in sections whose parts other threads may take. How many
/// helpers come, and when, is left to chance, so what a section computes must not depend on its
/// parts. A section costs about a microsecond if there are helpers, and nothing if not.
class Helpers {
public:
    /// For the leader: returns how many parts the next section may have.
    std::size_t parts() const { return 1 + helpers_.load(std::memory_order_relaxed); }

    /// For the leader: calls body(Part) for each of so many parts, some of them on helpers, and
    /// returns when all are done. `body` must not throw.
    template <typename Body>
    void split(std::size_t parts, const Body& body) {
        call_ = [](const void* what, Part part) noexcept { (*static_cast<const Body*>(what))(part); };
        body_ = &body;
        if (parts <= 1) return call_(body_, {0, 1});
        done_.store(0, std::memory_order_relaxed);
        section_.store(++generation_ << 32 | parts << 16, std::memory_order_release);
        while (take()) {
        }
        for (unsigned spins = 0; done_.load(std::memory_order_acquire) != parts;) wait(spins);
    }

    /// For the leader: helpers stay from `open` to `close`; they may come before.
    void open() { is_open_.store(true, std::memory_order_release); }
    void close() { is_open_.store(false, std::memory_order_release); }

    bool is_open() const { return is_open_.load(std::memory_order_acquire); }

    /// For a helper: takes parts until the work is closed.
    void help() {
        helpers_.fetch_add(1, std::memory_order_relaxed);
        for (unsigned spins = 0; is_open();) take() ? void(spins = 0) : wait(spins);
        helpers_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Called in loops that wait for another thread. Most waits are shorter than a change of
    /// threads.
    static void wait(unsigned& spins) {
        if (++spins % 1024 == 0) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

private:
    /// Does the next part, if there is one. A section's generation is part of its number, so a part
    /// is only taken of the section that was seen. Until that part is done the leader stays in the
    /// section, so its body exists.
    bool take() {
        std::uint64_t section = section_.load(std::memory_order_acquire);
        for (;;) {
            const Part part{section & 0xFFFF, section >> 16 & 0xFFFF};
            if (part.index >= part.count) return false;
            if (!section_.compare_exchange_weak(section, section + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
            call_(body_, part);
            done_.fetch_add(1, std::memory_order_release);
            return true;
        }
    }

    alignas(64) std::atomic<std::uint64_t> section_{0};  // generation, count of parts, next part
    alignas(64) std::atomic<std::size_t> done_{0};
    alignas(64) std::atomic<std::size_t> helpers_{0};
    std::atomic<bool> is_open_{false};
    std::uint64_t generation_ = 0;
    void (*call_)(const void*, Part) noexcept = nullptr;
    const void* body_ = nullptr;
};

}  // namespace fedbench
