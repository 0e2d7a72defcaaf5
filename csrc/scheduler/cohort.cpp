#include "cohort.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

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
    if (is_given() || c.select == Select::all) return;
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
        require(p[i] >= 0 && std::isfinite(p[i]), policy_, "probabilities", "finite and >= 0", p[i], i);
        total += p[i];
    }
    if (!(total > 0)) throw std::invalid_argument(policy_ + ": probabilities must not all be 0");
}

const std::vector<std::uint32_t>& Cohort::draw(std::uint64_t seed, std::uint32_t t, Here here) {
    selected_.clear();
    RandomStream random(seed, Purpose::selection, 0, t);
    switch (config_.select) {
        case Select::all:
            std::copy_if(pool_.begin(), pool_.end(), std::back_inserter(selected_), here);
            break;
        case Select::without_replacement:
            draw_distinct(random, here);
            break;
        case Select::with_replacement:
        case Select::weighted:
            draw_repeatedly(random, here);
            break;
        case Select::scripted:
        case Select::external:
            selected_ = given(t);
            std::erase_if(selected_, [&](std::uint32_t client) { return !here(client); });
            break;
    }
    return selected_;
}

/// Draws the first places of a Fisher-Yates shuffle until `cohort` of them are there. The swaps are
/// undone, so that a cohort depends on its own stream only.
void Cohort::draw_distinct(RandomStream& random, Here here) {
    std::vector<std::uint32_t> swaps;
    for (std::uint32_t i = 0; i < clients_ && selected_.size() < config_.cohort; ++i) {
        swaps.push_back(i + random.below(clients_ - i));
        std::swap(pool_[i], pool_[swaps.back()]);
        if (here(pool_[i])) selected_.push_back(pool_[i]);
    }
    for (std::size_t i = swaps.size(); i-- > 0;) std::swap(pool_[i], pool_[swaps[i]]);
}

/// Repeats every draw until its client is there. After too many draws in vain, the rest comes from
/// a list of the clients that are there.
void Cohort::draw_repeatedly(RandomStream& random, Here here) {
    constexpr int patience = 64;
    for (int in_vain = 0; selected_.size() < config_.cohort && in_vain < patience;) {
        const bool weighted = config_.select == Select::weighted;
        const std::uint32_t client = weighted ? draw_weighted(cumulative_, random.uniform()) : random.below(clients_);
        in_vain = here(client) ? 0 : in_vain + 1;
        if (in_vain == 0) selected_.push_back(client);
    }
    if (selected_.size() == config_.cohort) return;
    std::vector<std::uint32_t> present = candidates(0);
    std::erase_if(present, [&](std::uint32_t client) { return !here(client); });
    std::vector<double> cumulative;
    for (std::uint32_t client : present)
        cumulative.push_back((cumulative.empty() ? 0 : cumulative.back()) +
                             (config_.select == Select::weighted ? config_.probabilities[client] : 1));
    while (!present.empty() && selected_.size() < config_.cohort) selected_.push_back(present[draw_weighted(cumulative, random.uniform())]);
}

std::uint32_t Cohort::draw_weighted(const std::vector<double>& cumulative, double u) const {
    const auto place = std::upper_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
    return static_cast<std::uint32_t>(std::min<std::size_t>(static_cast<std::size_t>(place - cumulative.begin()), cumulative.size() - 1));
}

std::vector<std::uint32_t> Cohort::candidates(std::uint32_t t) const {
    if (is_given() && !needs_answer()) return given(t);
    std::vector<std::uint32_t> clients(clients_);
    std::iota(clients.begin(), clients.end(), 0);
    if (config_.select == Select::weighted)
        std::erase_if(clients, [&](std::uint32_t client) { return config_.probabilities[client] == 0; });
    return clients;
}

std::size_t Cohort::full_size(std::uint32_t t) const {
    if (config_.select == Select::all) return clients_;
    return is_given() ? given(t).size() : config_.cohort;
}

std::vector<std::uint32_t> Cohort::given(std::uint32_t t) const {
    if (config_.select == Select::external) return answer_;
    const Table<std::int32_t>& table = config_.selections;
    const std::string where = policy_ + ": selections of " + unit_ + " " + std::to_string(t);
    if (t + 1 >= table.offsets.size())
        throw std::invalid_argument(policy_ + ": selections has " + std::to_string(table.offsets.size() - 1) + " " + unit_ + "s, " + unit_ +
                                    " " + std::to_string(t) + " was needed");
    std::vector<std::uint32_t> clients;
    for (std::int64_t i = table.offsets[t]; i < table.offsets[t + 1]; ++i) {
        const std::int32_t client = table.values[static_cast<std::size_t>(i)];
        if (client < 0 || static_cast<std::uint32_t>(client) >= clients_)
            throw std::invalid_argument(where + " name client " + std::to_string(client) + ", there are " + std::to_string(clients_) +
                                        " clients");
        clients.push_back(static_cast<std::uint32_t>(client));
    }
    if (clients.empty()) throw std::invalid_argument(where + " are empty");
    return clients;
}

}  // namespace fedbench
