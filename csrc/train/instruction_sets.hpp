// Training and scores as a table of functions. A file per instruction set includes them and returns
// its table. The namespace is unnamed on purpose: see simd/registers.hpp.
#pragma once

#include <type_traits>

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

const Compiled<float>& compiled_avx2(std::type_identity<float>);
const Compiled<double>& compiled_avx2(std::type_identity<double>);
const Compiled<float>& compiled_avx512(std::type_identity<float>);
const Compiled<double>& compiled_avx512(std::type_identity<double>);

}  // namespace fedbench::train
