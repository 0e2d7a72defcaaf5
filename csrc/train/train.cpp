#include "fedbench/train.hpp"

#include "instruction_sets.hpp"
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

}  // namespace fedbench::train
