#include <chrono>
#include <utility>

#include "fedbench/train.hpp"

namespace fedbench::train {

Team::Team(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { work(i); });
}

Team::~Team() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Team::run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task,
               const std::function<void(std::size_t)>& watch) {
    std::unique_lock lock(mutex_);
    task_ = &task, count_ = count, next_ = finished_ = 0, error_ = nullptr;
    cancelled_ = false;
    start_.notify_all();
    const auto is_over = [&] { return running_ == 0 && (next_ == count_ || cancelled_); };
    while (!done_.wait_for(lock, std::chrono::milliseconds(100), is_over)) {
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
    std::unique_lock lock(mutex_);
    for (;;) {
        start_.wait(lock, [&] { return closing_ || (next_ < count_ && !cancelled_); });
        if (closing_) return;
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
        if (running_ == 0 && (next_ == count_ || cancelled_)) done_.notify_all();
    }
}

}  // namespace fedbench::train
