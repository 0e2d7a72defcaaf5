// A guard for objects that serve one caller at a time. A second caller, from another thread or from
// a callback, gets an exception.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

namespace fedbench {

/// One flag, which a call takes when it begins, never inside a loop. A moved or copied object is
/// free.
class OneCaller {
public:
    OneCaller() = default;
    OneCaller(const OneCaller&) noexcept {}
    OneCaller& operator=(const OneCaller&) noexcept { return *this; }

    /// The call; it ends with this object.
    class Call {
    public:
        explicit Call(std::atomic<bool>& busy) : busy_(busy) {}
        ~Call() { busy_.store(false, std::memory_order_release); }
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;

    private:
        std::atomic<bool>& busy_;
    };

    /// Throws std::logic_error, naming the `call`, while another one is under way.
    [[nodiscard]] Call enter(const char* call) const {
        if (busy_.exchange(true, std::memory_order_acquire))
            throw std::logic_error(std::string(call) + ": another call of the same object is under way; it serves one caller at a time");
        return Call(busy_);
    }

private:
    mutable std::atomic<bool> busy_{false};
};

}  // namespace fedbench
