// The same worker and the same scores compiled for each instruction set.
#pragma once

#include "fedbench/train.hpp"

namespace fedbench::train {

template <typename Real>
std::unique_ptr<Worker<Real>> make_worker_avx2(const Network& network, std::size_t largest, std::size_t threads);
template <typename Real>
std::unique_ptr<Worker<Real>> make_worker_avx512(const Network& network, std::size_t largest, std::size_t threads);

template <typename Real>
void score_avx2(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right);
template <typename Real>
void score_avx512(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right);

}  // namespace fedbench::train
