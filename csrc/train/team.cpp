#include <chrono>
#include <utility>

#include "fedbench/train.hpp"

namespace fedbench::train {

namespace {

/// How long a thread that has nothing to do stays awake after a call without a watch: about as long
/// as a small server step takes. To wake up takes as long as the training of ten clients by softmax
/// regression.
constexpr std::chrono::microseconds kAwake{500};

}  // namespace

Team::Team(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
}

Team::~Team() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
        ++changes_;
    }
    start_.notify_all(), first_start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Team::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task,
               const std::function<void(std::size_t)>& watch) {
    Lock lock(mutex_);
    task_ = &task, count_ = count, next_ = finished_ = 0, error_ = nullptr;
    is_watched_ = watch != nullptr, cancelled_ = false;
    ++changes_;
    if (is_watched_ || count > 1) start_.notify_all();
    if (is_watched_) first_start_.notify_all();
    while (!is_watched_ && next_ < count_ && !cancelled_) do_next(lock, 0);
    if (!is_watched_) stay_awake(lock, [&] { return is_over(); });
    while (!done_.wait_for(lock, std::chrono::milliseconds(100), [&] { return is_over(); })) {
        if (!watch || cancelled_) continue;
        const std::size_t finished = finished_;
        lock.unlock();
        std::exception_ptr stop;
        try {
            watch(finished);
        } catch (...) {
            stop = std::current_exception();
        }
        lock.lock();
        if (stop && !error_) error_ = stop, cancelled_ = true;
    }
    task_ = nullptr, count_ = next_ = 0;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));  // kept, it would hold whoever called
}

void Team::work(std::size_t thread) {
    Lock lock(mutex_);
    for (;;) {
        const auto is_called = [&] { return closing_ || is_due(thread); };
        if (thread > 0 && !is_watched_) stay_awake(lock, is_called);
        (thread > 0 ? start_ : first_start_).wait(lock, is_called);
        if (closing_) return;
        do_next(lock, thread);
    }
}

/// Does the next task, without the lock.
void Team::do_next(Lock& lock, std::size_t thread) {
    const std::size_t index = next_++;
    ++running_;
    const auto& task = *task_;
    lock.unlock();
    std::exception_ptr failure;
    try {
        task(index, thread);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    --running_, ++finished_;
    if (failure && !error_) error_ = failure, cancelled_ = true;
    if (is_over()) ++changes_, done_.notify_all();
}

/// Waits a little for `ready`, without sleep.
template <typename Ready>
void Team::stay_awake(Lock& lock, const Ready& ready) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    for (const auto end = now() + kAwake; !ready() && now() < end;) {
        const std::size_t seen = changes_;
        lock.unlock();
        while (changes_ == seen && now() < end) std::this_thread::yield();
        lock.lock();
    }
}

}  // namespace fedbench::train
