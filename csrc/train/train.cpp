#include <stdexcept>
#include <type_traits>

#include "instruction_sets.hpp"

namespace fedbench::train {

namespace {

template <typename Real>
const Compiled<Real>& compiled([[maybe_unused]] InstructionSet isa) {
#if defined(FEDBENCH_HAVE_X86)
    if constexpr (std::is_same_v<Real, float>) {
        if (isa == InstructionSet::avx512) return compiled_avx512();
        if (isa == InstructionSet::avx2) return compiled_avx2();
    }
#endif
    return kCompiled<Real>;
}

}  // namespace

template <typename Real>
std::unique_ptr<Worker<Real>> make_worker(const Network& network, std::size_t largest, InstructionSet isa, std::size_t threads) {
    return compiled<Real>(isa).new_worker(network, largest, threads);
}

template std::unique_ptr<Worker<float>> make_worker<float>(const Network&, std::size_t, InstructionSet, std::size_t);
template std::unique_ptr<Worker<double>> make_worker<double>(const Network&, std::size_t, InstructionSet, std::size_t);

template <typename Real>
void score(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right,
           InstructionSet isa) {
    if (classes == 0) throw std::invalid_argument("logits: expected at least one class, got none");
    compiled<Real>(isa).score(logits, labels, classes, loss, right);
}

template void score<float>(std::span<const float>, std::span<const std::int64_t>, std::size_t, double*, double*, InstructionSet);
template void score<double>(std::span<const double>, std::span<const std::int64_t>, std::size_t, double*, double*, InstructionSet);

}  // namespace fedbench::train
