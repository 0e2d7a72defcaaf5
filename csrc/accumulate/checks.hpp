// Checks of the kernels' arguments, on the CPU and on a GPU alike.
#pragma once

#include <stdexcept>
#include <string>

#include "fedbench/cache.hpp"
#include "rule.hpp"

namespace fedbench {

inline void check_length(const char* name, std::size_t got, std::size_t wanted) {
    if (got != wanted)
        throw std::invalid_argument(std::string(name) + ": expected length " + std::to_string(wanted) + ", got " + std::to_string(got));
}

inline void check_weights(std::size_t weights, std::size_t vectors) {
    if (weights != vectors)
        throw std::invalid_argument("weighted_sum: expected one weight per vector, got " + std::to_string(weights) + " weights for " +
                                    std::to_string(vectors) + " vectors");
}

template <typename Real>
void check_moments(std::size_t d, const Moments<Real>& moments, const AdamRule& rule) {
    check_length("m", moments.m.size(), d);
    check_length("v", moments.v.size(), d);
    if (!moments.vhat.empty()) check_length("vhat", moments.vhat.size(), d);
    if (rule.ahead && rule.bias_correction) throw std::invalid_argument("ahead: is defined without bias correction only");
    if (rule.second != Second::adam && rule.bias_correction)
        throw std::invalid_argument("second: yogi and adagrad are defined without bias correction only");
    if (rule.step < 1) throw std::invalid_argument("step: must be >= 1, got " + std::to_string(rule.step));
}

inline optimising::Momentum momentum_of(const AdamRule& rule) {
    return rule.ahead ? optimising::Momentum::ahead : optimising::Momentum::now;
}

template <typename Real>
optimising::Maximum maximum_of(const Moments<Real>& moments, std::size_t d, bool use_maximum) {
    if (use_maximum) check_length("vhat", moments.vhat.size(), d);
    if (use_maximum) return optimising::Maximum::used;
    return moments.vhat.empty() ? optimising::Maximum::none : optimising::Maximum::kept;
}

template <typename Real>
void check_cache(const CacheUpdate<Real>& update, std::size_t d) {
    const std::size_t vectors = update.vectors.size(), weights = update.order == CacheOrder::newest ? 0 : vectors;
    if (update.weights.size() != weights || update.rows.size() != vectors)
        throw std::invalid_argument("update_cache: expected " + std::to_string(weights) + " weights and " + std::to_string(vectors) +
                                    " rows for " + std::to_string(vectors) + " vectors, got " + std::to_string(update.weights.size()) +
                                    " and " + std::to_string(update.rows.size()));
    check_length("sum", update.sum.size(), d);
}

}  // namespace fedbench
