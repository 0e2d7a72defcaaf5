#include "cohort.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace fedbench {

Cohort::Cohort(std::string policy, std::string unit, Rounds config, std::uint32_t clients)
    : policy_(std::move(policy)), unit_(std::move(unit)), config_(std::move(config)), clients_(clients) {
    check();
    if (config_.select == Select::all || config_.select == Select::without_replacement) {
        pool_.resize(clients);
        std::iota(pool_.begin(), pool_.end(), 0);
    }
    if (config_.select == Select::weighted) {
        cumulative_.resize(clients);
        std::partial_sum(config_.probabilities.begin(), config_.probabilities.end(), cumulative_.begin());
    }
}

void Cohort::check() const {
    const Rounds& c = config_;
    if (c.select == Select::all || c.select == Select::scripted) return;
    if (c.cohort < 1) throw std::invalid_argument(policy_ + ": cohort_size must be >= 1, got 0");
    if (c.select == Select::without_replacement && c.cohort > clients_)
        throw std::invalid_argument(policy_ + ": cohort_size " + std::to_string(c.cohort) + " without replacement is more than the " +
                                    std::to_string(clients_) + " clients");
    if (c.select == Select::weighted) check_probabilities();
}

void Cohort::check_probabilities() const {
    const std::vector<double>& p = config_.probabilities;
    if (p.size() != clients_)
        throw std::invalid_argument(policy_ + ": expected " + std::to_string(clients_) + " probabilities, got " + std::to_string(p.size()));
    double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (!(p[i] >= 0 && std::isfinite(p[i])))
            throw std::invalid_argument(policy_ + ": probabilities must be finite and >= 0, got " + std::to_string(p[i]) + " (client " +
                                        std::to_string(i) + ")");
        total += p[i];
    }
    if (!(total > 0)) throw std::invalid_argument(policy_ + ": probabilities must not all be 0");
}

const std::vector<std::uint32_t>& Cohort::draw(std::uint64_t seed, std::uint32_t t) {
    selected_.clear();
    Stream random(seed, Purpose::selection, 0, t);
    switch (config_.select) {
        case Select::all:
            selected_ = pool_;
            break;
        case Select::without_replacement:
            draw_distinct(random);
            break;
        case Select::with_replacement:
            for (std::uint32_t i = 0; i < config_.cohort; ++i) selected_.push_back(random.below(clients_));
            break;
        case Select::weighted:
            for (std::uint32_t i = 0; i < config_.cohort; ++i) selected_.push_back(draw_weighted(random.uniform()));
            break;
        case Select::scripted:
            read_script(t);
            break;
    }
    return selected_;
}

/// The first cohort places of a Fisher-Yates shuffle; the swaps are undone, so that a cohort depends on its own stream only.
void Cohort::draw_distinct(Stream& random) {
    std::vector<std::uint32_t> swaps;
    for (std::uint32_t i = 0; i < config_.cohort; ++i) {
        swaps.push_back(i + random.below(clients_ - i));
        std::swap(pool_[i], pool_[swaps.back()]);
    }
    selected_.assign(pool_.begin(), pool_.begin() + config_.cohort);
    for (std::uint32_t i = config_.cohort; i-- > 0;) std::swap(pool_[i], pool_[swaps[i]]);
}

std::uint32_t Cohort::draw_weighted(double u) const {
    const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), u * cumulative_.back());
    return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(place - cumulative_.begin(), clients_ - 1));
}

void Cohort::read_script(std::uint32_t t) {
    const Table<std::int32_t>& table = config_.selections;
    const std::string where = policy_ + ": selections of " + unit_ + " " + std::to_string(t);
    if (t + 1 >= table.offsets.size())
        throw std::invalid_argument(policy_ + ": selections has " + std::to_string(table.offsets.size() - 1) + " " + unit_ + "s, " + unit_ +
                                    " " + std::to_string(t) + " was needed");
    for (std::int64_t i = table.offsets[t]; i < table.offsets[t + 1]; ++i) {
        const std::int32_t client = table.values[static_cast<std::size_t>(i)];
        if (client < 0 || static_cast<std::uint32_t>(client) >= clients_)
            throw std::invalid_argument(where + " name client " + std::to_string(client) + ", there are " + std::to_string(clients_) +
                                        " clients");
        selected_.push_back(static_cast<std::uint32_t>(client));
    }
    if (selected_.empty()) throw std::invalid_argument(where + " are empty");
}

}  // namespace fedbench
