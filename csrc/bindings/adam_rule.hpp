// The numbers of an AdamRule as Python sends them, for CPU and GPU.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>

#include "fedbench/optimise.hpp"

namespace fedbench::bindings {

/// rule = (rate, beta1, beta2, epsilon, bias_correction, step, ahead, second).
using RuleTuple = std::tuple<double, double, double, double, bool, std::int64_t, bool, std::string>;

inline Second second_named(const std::string& name) {
    if (name == "adam") return Second::adam;
    if (name == "yogi") return Second::yogi;
    if (name == "adagrad") return Second::adagrad;
    throw std::invalid_argument("second: expected adam, yogi or adagrad, got " + name);
}

inline AdamRule rule_of(const RuleTuple& rule) {
    const auto& [rate, beta1, beta2, epsilon, bias_correction, step, ahead, second] = rule;
    return {rate, beta1, beta2, epsilon, bias_correction, step, ahead, second_named(second)};
}

}  // namespace fedbench::bindings
