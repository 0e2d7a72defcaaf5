// Distillation with few classes: a lane is a row, so nothing is added across lanes. One pass gives
// P and Q of as many rows as a pack has lanes; once alpha is known, grad = (Q - alpha P) / B over
// the whole array.
#pragma once

#include "groups.hpp"

namespace fedbench::distillation {
namespace {

/// Reads `width` rows of `from` as columns; a row that does not exist repeats the last one.
template <typename Real>
[[gnu::always_inline]] inline void transpose_in(const Real* from, std::size_t classes, std::size_t rows, Real* tile) {
    constexpr std::size_t width = Pack<Real>::width;
    for (std::size_t j = 0; j < width; ++j) {
        const Real* row = from + std::min(j, rows - 1) * classes;
        for (std::size_t c = 0; c < classes; ++c) tile[c * width + j] = row[c];
    }
}

template <typename Real>
[[gnu::always_inline]] inline void transpose_out(const Real* tile, std::size_t classes, std::size_t rows, Real* to) {
    constexpr std::size_t width = Pack<Real>::width;
    for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t c = 0; c < classes; ++c) to[j * classes + c] = tile[c * width + j];
}

/// Computes e = exp(logit - maximum) of teacher and student for a group of rows, and their sums. A
/// lane is a row.
template <typename Real>
void few_group(const Real* teacher, const Real* student, std::size_t classes, Real* p_out, Real* q_out, Group& group) {
    constexpr std::size_t width = Pack<Real>::width;
    alignas(64) Real t[kFew * width], s[kFew * width];
    if (classes == 0) return;  // never true: avoids a warning of the compiler
    transpose_in(teacher, classes, group.rows, t);
    transpose_in(student, classes, group.rows, s);
    auto t_max = load(t), s_max = load(s), s_label = load(s), label = broadcast(Real{0});  // kFew is exact in any Real
    for (std::size_t c = 1; c < classes; ++c) {
        const auto tc = load(t + c * width), sc = load(s + c * width);
        label = where_greater(tc, t_max, broadcast(static_cast<Real>(c)), label);
        s_label = where_greater(tc, t_max, sc, s_label);
        t_max = larger(tc, t_max);
        s_max = larger(sc, s_max);
    }
    auto e_sum = broadcast(Real{0}), f_sum = e_sum, weighted = e_sum, gap = e_sum;
    for (std::size_t c = 0; c < classes; ++c) {
        const auto dt = load(t + c * width) - t_max, ds = load(s + c * width) - s_max;
        const auto e = exp_negative(dt), f = exp_negative(ds);
        store(t + c * width, e);
        store(s + c * width, f);
        e_sum = e_sum + e;
        f_sum = f_sum + f;
        weighted = fma(e, dt, weighted);
        gap = fma(e, dt - ds, gap);
    }
    const auto of_p = broadcast(Real{1}) / e_sum, of_q = broadcast(Real{1}) / f_sum;
    for (std::size_t c = 0; c < classes; ++c) {
        store(t + c * width, load(t + c * width) * of_p);
        store(s + c * width, load(s + c * width) * of_q);
    }
    transpose_out(t, classes, group.rows, p_out);
    transpose_out(s, classes, group.rows, q_out);
    for (std::size_t j = 0; j < width; ++j) {
        group.sum[j] = e_sum[j], group.normaliser[j] = f_sum[j], group.negative_entropy[j] = weighted[j], group.gap[j] = gap[j];
        group.label[j] = static_cast<std::int64_t>(label[j]);
        group.at_label[j] = static_cast<double>(s_label[j]) - static_cast<double>(s_max[j]);
    }
}

/// Turns grad, which holds Q, into (Q - alpha P) / B, and takes (1 - alpha) / B away at the labels.
template <typename Real>
void subtract_targets(std::span<Real> grad, const Real* p, std::size_t classes, std::span<const TeacherRow> rows, const Mix<Real>& mix) {
    constexpr std::size_t width = Pack<Real>::width;
    std::size_t i = 0;
    for (const auto minus_alpha = broadcast(mix.minus_alpha), by = broadcast(mix.scale); i + width <= grad.size(); i += width)
        store(&grad[i], residual(load(&grad[i]), load(p + i), minus_alpha, by));
    for (; i < grad.size(); ++i) grad[i] = residual(grad[i], p[i], mix.minus_alpha, mix.scale);
    for (std::size_t u = 0; u < rows.size(); ++u) grad[u * classes + static_cast<std::size_t>(rows[u].label)] -= mix.hard;
}

template <typename Real>
Distilled few_classes(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                      const DistillWorkspace<Real>& workspace) {
    const std::size_t rows = workspace.rows.size();
    Real* const p = out.probabilities.empty() ? workspace.logits.data() : out.probabilities.data();
    LossSums sums;
    for (std::size_t first = 0; first < rows; first += Pack<Real>::width) {
        Group group(std::min(Pack<Real>::width, rows - first));
        const std::size_t at = first * rule.classes;
        few_group(teacher.data() + at, student.data() + at, rule.classes, p + at, out.grad.data() + at, group);
        finish_teacher(group, first, out, sums);
        finish_student(group, first, out, sums);
        for (std::size_t j = 0; j < group.rows; ++j) workspace.rows[first + j].label = group.label[j];
    }
    Distilled result = with_alpha(rule, rows, sums);
    subtract_targets<Real>(out.grad, p, rule.classes, workspace.rows, {result.alpha, rows});
    result.loss = loss_of(result.alpha, rows, sums);
    return result;
}

}  // namespace
}  // namespace fedbench::distillation
