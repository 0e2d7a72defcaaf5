// Synchronous rounds [FedAvg and its kin].
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

class RoundsPolicy final : public Policy {
public:
    RoundsPolicy(Rounds config, std::uint32_t clients) : config_(std::move(config)), clients_(clients), copies_(clients, 0) {
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

    void begin(Scheduler& s) override {
        draw(s);
        distinct_.clear();
        arrived_.clear();
        for (std::uint32_t client : selected_)
            if (copies_[client]++ == 0) distinct_.push_back(client);
        for (std::uint32_t client : distinct_) s.dispatch(client);
    }

    void on_event(Scheduler& s, const Event& event) override {
        if (event.phase() == Phase::dispatch) return begin(s);
        const std::uint32_t client = event.client();
        arrived_.insert(arrived_.end(), copies_[client], event.slot());
        copies_[client] = 0;
        if (arrived_.size() < selected_.size()) return;
        s.update(arrived_);
        if (!s.finished()) s.at(s.now(), Phase::dispatch, 0);
    }

    std::vector<std::int32_t> missing() const override {
        std::vector<std::int32_t> clients;
        for (std::uint32_t client : distinct_)
            if (copies_[client] > 0) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    void check() const {
        const Rounds& c = config_;
        if (c.select == Select::all || c.select == Select::scripted) return;
        if (c.cohort < 1) throw std::invalid_argument("rounds: cohort_size must be >= 1, got 0");
        if (c.select == Select::without_replacement && c.cohort > clients_)
            throw std::invalid_argument("rounds: cohort_size " + std::to_string(c.cohort) + " without replacement is more than the " +
                                        std::to_string(clients_) + " clients");
        if (c.select == Select::weighted && c.probabilities.size() != clients_)
            throw std::invalid_argument("rounds: expected " + std::to_string(clients_) + " probabilities, got " +
                                        std::to_string(c.probabilities.size()));
        if (c.select != Select::weighted) return;
        double total = 0;
        for (std::size_t i = 0; i < c.probabilities.size(); ++i) {
            if (!(c.probabilities[i] >= 0 && std::isfinite(c.probabilities[i])))
                throw std::invalid_argument("rounds: probabilities must be finite and >= 0, got " + std::to_string(c.probabilities[i]) +
                                            " (client " + std::to_string(i) + ")");
            total += c.probabilities[i];
        }
        if (!(total > 0)) throw std::invalid_argument("rounds: probabilities must not all be 0");
    }

    void draw(const Scheduler& s) {
        selected_.clear();
        const auto round = static_cast<std::uint32_t>(s.version());
        fedbench::Stream random(s.system().seed, Purpose::selection, 0, round);
        switch (config_.select) {
            case Select::all: selected_ = pool_; break;
            case Select::without_replacement: draw_distinct(random); break;
            case Select::with_replacement:
                for (std::uint32_t i = 0; i < config_.cohort; ++i) selected_.push_back(random.below(clients_));
                break;
            case Select::weighted:
                for (std::uint32_t i = 0; i < config_.cohort; ++i) selected_.push_back(draw_weighted(random.uniform()));
                break;
            case Select::scripted: read_script(round); break;
        }
    }

    /// The first cohort places of a Fisher-Yates shuffle; the swaps are undone, so that a round depends on its own stream only.
    void draw_distinct(fedbench::Stream& random) {
        std::vector<std::uint32_t> swaps;
        for (std::uint32_t i = 0; i < config_.cohort; ++i) {
            swaps.push_back(i + random.below(clients_ - i));
            std::swap(pool_[i], pool_[swaps.back()]);
        }
        selected_.assign(pool_.begin(), pool_.begin() + config_.cohort);
        for (std::uint32_t i = config_.cohort; i-- > 0;) std::swap(pool_[i], pool_[swaps[i]]);
    }

    std::uint32_t draw_weighted(double u) const {
        const auto place = std::upper_bound(cumulative_.begin(), cumulative_.end(), u * cumulative_.back());
        return static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(place - cumulative_.begin(), clients_ - 1));
    }

    void read_script(std::uint32_t round) {
        const Table<std::int32_t>& table = config_.selections;
        if (round + 1 >= table.offsets.size())
            throw std::invalid_argument("rounds: selections has " + std::to_string(table.offsets.size() - 1) + " rounds, round " +
                                        std::to_string(round) + " was needed");
        for (std::int64_t i = table.offsets[round]; i < table.offsets[round + 1]; ++i) {
            const std::int32_t client = table.values[static_cast<std::size_t>(i)];
            if (client < 0 || static_cast<std::uint32_t>(client) >= clients_)
                throw std::invalid_argument("rounds: selections of round " + std::to_string(round) + " name client " +
                                            std::to_string(client) + ", there are " + std::to_string(clients_) + " clients");
            selected_.push_back(static_cast<std::uint32_t>(client));
        }
        if (selected_.empty()) throw std::invalid_argument("rounds: selections of round " + std::to_string(round) + " are empty");
    }

    Rounds config_;
    std::uint32_t clients_;
    std::vector<std::uint32_t> copies_;  // by client: how often drawn and not yet arrived
    std::vector<std::uint32_t> pool_;
    std::vector<double> cumulative_;
    std::vector<std::uint32_t> selected_, distinct_;
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Rounds config, std::uint32_t clients) {
    return std::make_unique<RoundsPolicy>(std::move(config), clients);
}

}  // namespace fedbench
