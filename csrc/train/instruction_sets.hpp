// The same worker compiled for each instruction set.
#pragma once

#include "fedbench/train.hpp"

namespace fedbench::train {

template <typename Real>
std::unique_ptr<Worker<Real>> make_worker_avx2(const Network& network, std::size_t largest, std::size_t threads);
template <typename Real>
std::unique_ptr<Worker<Real>> make_worker_avx512(const Network& network, std::size_t largest, std::size_t threads);

}  // namespace fedbench::train
