#include "fedbench/train.hpp"

#include "instruction_sets.hpp"
#include "scores.hpp"
#include "worker.hpp"

namespace fedbench::train {

template <typename Real>
std::unique_ptr<Worker<Real>> make_worker(const Network& network, std::size_t largest, InstructionSet isa, std::size_t threads) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa == InstructionSet::avx512) return make_worker_avx512<Real>(network, largest, threads);
    if (isa == InstructionSet::avx2) return make_worker_avx2<Real>(network, largest, threads);
#endif
    (void)isa;
    return std::make_unique<NetworkWorker<Real>>(network, largest, threads);
}

template std::unique_ptr<Worker<float>> make_worker<float>(const Network&, std::size_t, InstructionSet, std::size_t);
template std::unique_ptr<Worker<double>> make_worker<double>(const Network&, std::size_t, InstructionSet, std::size_t);

template <typename Real>
void score(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right,
           InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if (isa == InstructionSet::avx512) return score_avx512(logits, labels, classes, loss, right);
    if (isa == InstructionSet::avx2) return score_avx2(logits, labels, classes, loss, right);
#endif
    (void)isa;
    score_rows(logits, labels, classes, loss, right);
}

template void score<float>(std::span<const float>, std::span<const std::int64_t>, std::size_t, double*, double*, InstructionSet);
template void score<double>(std::span<const double>, std::span<const std::int64_t>, std::size_t, double*, double*, InstructionSet);

}  // namespace fedbench::train
