// Threads that help another one with its work while they have none of their own.
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

    /// Its range of 0 .. n - 1, as {begin, end}; ranges begin at multiples of `step`, and some may
    /// be empty.
    std::pair<std::size_t, std::size_t> of(std::size_t n, std::size_t step = 1) const {
        const std::size_t steps = (n + step - 1) / step;
        return {std::min(n, steps * index / count * step), std::min(n, steps * (index + 1) / count * step)};
    }
};

/// The work of one thread, its leader, in sections that others take parts of. How many come, and
/// when, is left to chance: so what a section computes must not depend on its parts. A section
/// costs about a microsecond if there are helpers, and nothing if not.
class Helpers {
public:
    /// The leader: how many parts the next section may have.
    std::size_t parts() const { return 1 + helpers_.load(std::memory_order_relaxed); }

    /// The leader: body(Part) for each of so many parts, some of them by helpers; returns when all
    /// are done. `body` must not throw.
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

    /// The leader: from `open` to `close` helpers stay; they may come before.
    void open() { is_open_.store(true, std::memory_order_release); }
    void close() { is_open_.store(false, std::memory_order_release); }

    bool is_open() const { return is_open_.load(std::memory_order_acquire); }

    /// A helper: takes parts until the work is closed.
    void help() {
        helpers_.fetch_add(1, std::memory_order_relaxed);
        for (unsigned spins = 0; is_open();) take() ? void(spins = 0) : wait(spins);
        helpers_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Called in loops that wait for another thread: most waits are shorter than a change of
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
    /// Does the next part, if there is one. A section's generation is in its number, so a part is
    /// only taken of the section that was seen; until that part is done the leader stays in the
    /// section, so its body is there.
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
