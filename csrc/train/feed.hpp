// The mini-batches of jobs.
#pragma once

#include "fedbench/philox.hpp"
#include "fedbench/train.hpp"

namespace fedbench::train {
namespace {

/// Hands out the mini-batches of some jobs, one after the other. It is one batch ahead, so that the
/// examples of the next step can be fetched from memory while one is computed.
template <typename Real>
class Feed {
public:
    Feed(std::span<const Job<Real>> jobs, const Examples<Real>& data, std::size_t features, std::uint64_t seed, std::size_t batch,
         bool shuffled)
        : jobs_(jobs), data_(data), features_(features), seed_(seed), batch_(batch), shuffled_(shuffled) {
        if (!jobs_.empty()) draw();
        look_ahead();
    }

    /// Copies where the examples of the next batch start, and their labels. Returns how many there
    /// are.
    std::size_t take(std::vector<const Real*>& inputs, std::vector<std::int64_t>& labels) {
        const std::size_t count = ahead_.size();
        std::copy(ahead_.begin(), ahead_.end(), inputs.begin());
        std::copy(labels_.begin(), labels_.end(), labels.begin());
        look_ahead();
        return count;
    }

    /// Where the examples of the batch after that start; none after the last one.
    std::span<const Real* const> ahead() const { return ahead_; }

private:
    void draw() {
        const Job<Real>& job = jobs_.front();
        order_ = draw_batches(RandomStream(seed_, Purpose::data_order, job.client, job.k), static_cast<std::uint32_t>(job.shard.size()),
                              static_cast<std::uint32_t>(batch_), job.steps, shuffled_);
        step_ = 0;
    }

    void look_ahead() {
        ahead_.clear(), labels_.clear();
        while (!jobs_.empty() && step_ + 1 == order_.offsets.size()) {
            jobs_ = jobs_.subspan(1);
            if (!jobs_.empty()) draw();
        }
        if (jobs_.empty()) return;
        for (std::int64_t i = order_.offsets[step_]; i < order_.offsets[step_ + 1]; ++i) {
            const auto at = static_cast<std::size_t>(order_.rows[static_cast<std::size_t>(i)]);
            const auto row = static_cast<std::size_t>(jobs_.front().shard[at]);
            ahead_.push_back(data_.x + row * features_), labels_.push_back(data_.y[row]);
        }
        ++step_;
    }

    std::span<const Job<Real>> jobs_;  // the first one's batches are handed out
    const Examples<Real>& data_;
    std::size_t features_;
    std::uint64_t seed_;
    std::size_t batch_;
    bool shuffled_;
    Batches order_;
    std::size_t step_ = 0;  // of the first job, after the batch that is ahead
    std::vector<const Real*> ahead_;
    std::vector<std::int64_t> labels_;
};

}  // namespace
}  // namespace fedbench::train
