#include "fedbench/dropout.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace fedbench {

Dropout::Dropout(std::vector<double> probability) {
    for (std::size_t i = 0; i < probability.size(); ++i)
        require(probability[i] >= 0 && probability[i] <= 1, "dropout", "probability", "between 0 and 1", probability[i], i);
    const auto all = [&](double q) { return std::all_of(probability.begin(), probability.end(), [q](double p) { return p == q; }); };
    if (all(0)) return;
    if (all(1)) throw std::invalid_argument("dropout: the probability is 1 for every client, so no update could ever come");
    probability_ = std::move(probability);
}

void Dropout::check_clients(std::uint32_t clients) const {
    if (!is_off()) check_count("dropout", probability_.size(), clients);
}

std::optional<std::int64_t> Dropout::draw(std::uint64_t seed, std::uint32_t client, std::uint32_t k, std::int64_t run) const {
    RandomStream random(seed, Purpose::loss, client, k);
    if (random.uniform() >= probability_[probability_.size() == 1 ? 0 : client]) return std::nullopt;
    return std::min(run, static_cast<std::int64_t>(random.uniform() * static_cast<double>(run)));
}

}  // namespace fedbench
