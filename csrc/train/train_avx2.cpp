// Compiled for AVX2 (the flags are in CMakeLists.txt); called only where the machine has it.
#include "instruction_sets.hpp"
#include "scores.hpp"
#include "worker.hpp"

namespace fedbench::train {

template <>
std::unique_ptr<Worker<float>> make_worker_avx2<float>(const Network& network, std::size_t largest, std::size_t threads) {
    return std::make_unique<NetworkWorker<float>>(network, largest, threads);
}
template <>
std::unique_ptr<Worker<double>> make_worker_avx2<double>(const Network& network, std::size_t largest, std::size_t threads) {
    return std::make_unique<NetworkWorker<double>>(network, largest, threads);
}

template <>
void score_avx2<float>(std::span<const float> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss,
                       double* right) {
    score_rows(logits, labels, classes, loss, right);
}
template <>
void score_avx2<double>(std::span<const double> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss,
                        double* right) {
    score_rows(logits, labels, classes, loss, right);
}

}  // namespace fedbench::train
