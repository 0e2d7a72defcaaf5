// The mini-batches of jobs.
#pragma once

#include <utility>

#include "crop.hpp"
#include "fedbench/philox.hpp"

namespace fedbench::train {
namespace {

/// Hands out the mini-batches of some jobs, one after the other. It is one batch ahead, so that the
/// examples of the next step can be fetched from memory while one is computed.
template <typename Real>
class Feed {
public:
    Feed(std::span<const Job<Real>> jobs, const Examples<Real>& data, const Shape& example, std::uint64_t seed, std::size_t batch,
         bool shuffled)
        : jobs_(jobs), data_(data), example_(example), seed_(seed), batch_(batch), shuffled_(shuffled) {
        if (!jobs_.empty()) draw();
        look_ahead();
    }

    /// Copies where the examples of the next batch start, and their labels. Returns how many there
    /// are. They stay until the next call.
    std::size_t take(std::vector<const Real*>& inputs, std::vector<std::int64_t>& labels) {
        const std::size_t count = ahead_.size();
        std::copy(ahead_.begin(), ahead_.end(), inputs.begin());
        std::copy(labels_.begin(), labels_.end(), labels.begin());
        changed_.swap(changed_ahead_);
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
        changes_ = RandomStream(seed_, Purpose::augmentation, job.client, job.k);
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
            ahead_.push_back(data_.x + row * example_.size()), labels_.push_back(data_.y[row]);
        }
        if (data_.change.fill != nullptr) change();
        ++step_;
    }

    /// Puts changed copies in the place of the images that are ahead.
    void change() {
        changed_ahead_.resize(ahead_.size() * example_.size());
        Real* to = changed_ahead_.data();
        for (const Real*& image : ahead_) {
            crop_and_flip(image, example_, data_.change, changes_.word(), to);
            image = std::exchange(to, to + example_.size());
        }
    }

    std::span<const Job<Real>> jobs_;  // the first one's batches are handed out
    const Examples<Real>& data_;
    Shape example_;
    std::uint64_t seed_;
    std::size_t batch_;
    bool shuffled_;
    Batches order_;
    std::size_t step_ = 0;  // of the first job, after the batch that is ahead
    std::vector<const Real*> ahead_;
    std::vector<std::int64_t> labels_;
    RandomStream changes_{0, Purpose::augmentation};
    std::vector<Real> changed_, changed_ahead_;  // the images of the batch that was taken, and of the one ahead
};

}  // namespace
}  // namespace fedbench::train
