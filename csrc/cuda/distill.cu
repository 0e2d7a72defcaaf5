// The host's side of distill: sums of every row, alpha and loss by one block that adds the rows in
// order, then the gradient.
#include "../distill/checks.hpp"
#include "long_rows.cuh"
#include "sums.cuh"

namespace fedbench::cuda {

namespace {

constexpr unsigned kFewThreads = 64;  // a row each: 2,000 rows are spread over 32 multiprocessors

template <typename Real>
void sum_rows(const DistillCall<Real>& call, Stream stream) {
    const std::size_t many = blocks_for(call.count, kThreads / kWidth<Real>);
    if (call.given) return launch("distill, given P", sum_given<Real>, many, kThreads, stream, call);
    if (call.classes >= kLong) return launch("distill, very many classes", sum_long_rows<Real>, call.count, kThreads, stream, call);
    if (call.classes > formulas::kFew) return launch("distill, many classes", sum_many_classes<Real>, many, kThreads, stream, call);
    launch("distill, few classes", sum_few_classes<Real>, blocks_for(call.count, kFewThreads), kFewThreads, stream, call);
}

void copy_column(std::span<double> to, const double* from, Stream stream) {
    if (!to.empty()) check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToDevice, stream), "copy on the device");
}

/// Leaves loss, relative entropy and alpha, and the numbers of the gradient, given the sums over
/// all rows.
template <typename Real>
struct LeaveLoss {
    double* numbers;
    formulas::Mix<Real>* mix;
    DistillRule rule;
    std::size_t count;

    __device__ void operator()(const double* sums) const {
        const formulas::LossSums all{sums[0], sums[1], sums[2]};
        const Distilled found = formulas::with_alpha(rule, count, all);
        numbers[0] = formulas::loss_of(found.alpha, count, all);
        numbers[1] = found.relative_entropy;
        numbers[2] = found.alpha;
        *mix = formulas::Mix<Real>(found.alpha, count);
    }
};

}  // namespace

template <typename Real>
void later::distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                    double* numbers, Stream stream) {
    const std::size_t count = rule.classes == 0 ? 0 : student.size() / rule.classes;
    formulas::check_sizes(student.size(), teacher.size(), count, rule.classes, out);
    const Temporary<double> rows(3 * count, stream);
    const Temporary<RowScale<Real>> scales(count, stream);
    const Temporary<formulas::Mix<Real>> mix(1, stream);
    const DistillCall<Real> call{student.data(),
                                 teacher.data(),
                                 count,
                                 rule.classes,
                                 rule.kind == Teacher::probabilities,
                                 rows.data(),
                                 scales.data(),
                                 out.label.data(),
                                 out.grad.data(),
                                 out.probabilities.data()};
    sum_rows(call, stream);
    copy_column(out.entropy, rows.data(), stream);
    copy_column(out.kl, rows.data() + count, stream);
    copy_column(out.ce, rows.data() + 2 * count, stream);
    launch_in_order<3>("distill, loss", rows.data(), count, LeaveLoss<Real>{numbers, mix.data(), rule, count}, stream);
    launch("distill, gradient", write_gradient<Real>, blocks_for(student.size(), kThreads), kThreads, stream, call, mix.data());
}

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  Stream stream) {
    const Numbers<3> numbers(stream);
    later::distill<Real>(student, teacher, rule, out, numbers.data(), stream);
    const auto found = numbers.wait("distill");
    return {found[0], found[1], found[2]};
}

#define FEDBENCH_INSTANTIATE(Real)                                                                                                      \
    template void later::distill<Real>(std::span<const Real>, std::span<const Real>, const DistillRule&, const DistillRows<Real>&,      \
                                       double*, Stream);                                                                                \
    template Distilled distill<Real>(std::span<const Real>, std::span<const Real>, const DistillRule&, const DistillRows<Real>&, Stream);
FEDBENCH_INSTANTIATE(float)
FEDBENCH_INSTANTIATE(double)
#undef FEDBENCH_INSTANTIATE

}  // namespace fedbench::cuda
