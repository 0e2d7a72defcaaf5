// Training and scores as a table of functions. A file per instruction set includes them and returns
// its table. The namespace is unnamed on purpose: see simd/registers.hpp.
#pragma once

#include "fedbench/train.hpp"
#include "scores.hpp"
#include "worker.hpp"

namespace fedbench::train {

/// What is compiled for one instruction set.
template <typename Real>
struct Compiled {
    std::unique_ptr<Worker<Real>> (*new_worker)(const Network& network, std::size_t largest, std::size_t threads);
    void (*score)(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right);
};

namespace {

template <typename Real>
std::unique_ptr<Worker<Real>> new_worker(const Network& network, std::size_t largest, std::size_t threads) {
    return std::make_unique<NetworkWorker<Real>>(network, largest, threads);
}

template <typename Real>
constexpr Compiled<Real> kCompiled{new_worker<Real>, score_rows<Real>};

}  // namespace

// Runs train in float. Double, which tests compare with, is compiled once: its bits are the same
// everywhere.
const Compiled<float>& compiled_avx2();
const Compiled<float>& compiled_avx512();

}  // namespace fedbench::train
