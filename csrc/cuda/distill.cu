// The host's side of distill: sums of every row, alpha and loss on the host in row order, then the
// gradient.
#include "../distill/checks.hpp"
#include "rows.cuh"

namespace fedbench::cuda {

namespace {

constexpr unsigned kFewThreads = 64;  // a row each: 2,000 rows are spread over 32 multiprocessors

template <typename Real>
void sum_rows(const DistillCall<Real>& call, Stream stream) {
    const std::size_t many = blocks_for(call.count, kThreads / kWidth<Real>);
    if (call.given) return launch("distill, given P", sum_given<Real>, many, kThreads, stream, call);
    if (call.classes > formulas::kFew) return launch("distill, many classes", sum_many_classes<Real>, many, kThreads, stream, call);
    launch("distill, few classes", sum_few_classes<Real>, blocks_for(call.count, kFewThreads), kFewThreads, stream, call);
}

void copy_column(std::span<double> to, const double* from, Stream stream) {
    if (!to.empty()) check(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToDevice, stream), "copy on the device");
}

formulas::LossSums sums_of(const std::vector<double>& rows) {
    const std::size_t count = rows.size() / 3;
    formulas::LossSums sums;
    for (std::size_t u = 0; u < count; ++u) {
        sums.entropy += rows[u];
        sums.kl += rows[count + u];
        sums.ce += rows[2 * count + u];
    }
    return sums;
}

}  // namespace

template <typename Real>
Distilled distill(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                  Stream stream) {
    const std::size_t count = rule.classes == 0 ? 0 : student.size() / rule.classes;
    formulas::check_sizes(student.size(), teacher.size(), count, rule.classes, out);
    const Temporary<double> rows(3 * count, stream);
    const Temporary<RowScale<Real>> scales(count, stream);
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
    const formulas::LossSums sums = sums_of(rows.values());
    Distilled result = formulas::with_alpha(rule, count, sums);
    const formulas::Mix<Real> mix(result.alpha, count);
    launch("distill, gradient", write_gradient<Real>, blocks_for(student.size(), kThreads), kThreads, stream, call, mix);
    finish("distill", stream);
    result.loss = formulas::loss_of(result.alpha, count, sums);
    return result;
}

template Distilled distill<float>(std::span<const float>, std::span<const float>, const DistillRule&, const DistillRows<float>&, Stream);
template Distilled distill<double>(std::span<const double>, std::span<const double>, const DistillRule&, const DistillRows<double>&,
                                   Stream);

}  // namespace fedbench::cuda
