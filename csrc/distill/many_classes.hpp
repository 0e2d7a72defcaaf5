// Distillation with many classes: a lane is every width-th class of a row. The first pass goes over
// the teacher's rows, which give alpha, and leaves e where the gradient will be. The second pass
// goes row by row, so that a row stays in the second-level cache: f of the student, and the
// gradient from both. An exponential costs more than reading e back, and the gradient's memory is
// fetched anyway.
#pragma once

#include "groups.hpp"
#include "peaks.hpp"

namespace fedbench::distillation {
namespace {

/// Prefetches the same place in the next row while this row is worked on, so that memory and
/// arithmetic overlap. A pack is a cache line.
template <typename Real>
[[gnu::always_inline]] inline void fetch_ahead(const Real* p, std::size_t classes) {
    __builtin_prefetch(p + classes, 0, 2);
}

/// Writes e of one row into `e_out`, and returns its sums.
template <typename Real>
TeacherRow teacher_row(const Real* teacher, std::size_t classes, Real* e_out) {
    const Real peak = largest_of(teacher, classes);
    const auto t_max = broadcast(peak);
    const auto totals = over_row<Real, 2>(
        classes, [=](std::size_t i, std::size_t keep, Terms<Real, 2> & terms) __attribute__((always_inline)) {
            fetch_ahead(teacher + i, classes), fetch_ahead(e_out + i, classes);
            const auto dt = load(teacher + i) - t_max;
            auto e = exp_negative(dt);
            store(e_out + i, e);
            if (keep > 0) e = from_lane(keep, e);
            terms[0] = terms[0] + e;
            terms[1] = fma(e, dt, terms[1]);
        });
    return {static_cast<double>(peak), totals[0].sum(), 0, totals[1].sum(), first_place_of(teacher, classes, peak)};
}

/// Writes f of one row into `f_out`, and sets row j of the group.
template <typename Real>
void student_row(const Real* student, const Real* e, std::size_t classes, const TeacherRow& row, Real* f_out, Group& group, std::size_t j) {
    const Real peak = largest_of(student, classes);
    const auto s_max = broadcast(peak);
    const auto totals = over_row<Real, 2>(
        classes, [=](std::size_t i, std::size_t keep, Terms<Real, 2> & terms) __attribute__((always_inline)) {
            fetch_ahead(student + i, classes), fetch_ahead(e + i, classes);
            const auto ds = load(student + i) - s_max;
            auto of_teacher = load(e + i), f = exp_negative(ds);
            store(f_out + i, f);
            if (keep > 0) of_teacher = from_lane(keep, of_teacher), f = from_lane(keep, f);
            terms[0] = terms[0] + f;
            terms[1] = fma(of_teacher, ds, terms[1]);
        });
    group.sum[j] = row.sum;
    group.log_sum[j] = row.log_sum;
    group.normaliser[j] = totals[0].sum();
    group.gap[j] = row.negative_entropy - totals[1].sum();
    group.at_label[j] = static_cast<double>(student[row.label]) - static_cast<double>(peak);
}

/// Turns grad, which holds e, into (f / F - alpha e / E) / B, and writes P = e / E if it is asked
/// for. Each element is changed once.
template <bool wanted, typename Real>
void combine_row(Real* grad, const Real* f, Real* p_out, std::size_t classes, Real one_over_f, Real one_over_e, const Mix<Real>& mix) {
    constexpr std::size_t width = Pack<Real>::width;
    const auto of_f = broadcast(one_over_f), of_e = broadcast(one_over_e), minus_alpha = broadcast(mix.minus_alpha),
               scale = broadcast(mix.scale);
    const auto of = [&](const Pack<Real>& p, std::size_t i) { return residual(load(f + i) * of_f, p, minus_alpha, scale); };
    const auto last_p = load(grad + classes - width) * of_e, last = of(last_p, classes - width);
    for (std::size_t i = 0; i + width <= classes; i += width) {
        const auto p = load(grad + i) * of_e;
        store(grad + i, of(p, i));
        if constexpr (wanted) store(p_out + i, p);
    }
    store(grad + classes - width, last);
    if constexpr (wanted) store(p_out + classes - width, last_p);
}

template <typename Real>
void teacher_group(std::span<const Real> teacher, std::size_t classes, std::size_t first, std::span<TeacherRow> rows,
                   const DistillRows<Real>& out, LossSums& sums) {
    Group group(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) {
        const std::size_t at = (first + j) * classes;
        rows[j] = teacher_row(teacher.data() + at, classes, out.grad.data() + at);
        group.sum[j] = rows[j].sum, group.negative_entropy[j] = rows[j].negative_entropy, group.label[j] = rows[j].label;
    }
    finish_teacher(group, first, out, sums);
    for (std::size_t j = 0; j < rows.size(); ++j) rows[j].log_sum = group.log_sum[j];
}

template <typename Real>
Distilled many_classes(std::span<const Real> student, std::span<const Real> teacher, const DistillRule& rule, const DistillRows<Real>& out,
                       const DistillWorkspace<Real>& workspace) {
    const std::size_t classes = rule.classes, rows = workspace.rows.size();
    LossSums sums;
    for (std::size_t first = 0; first < rows; first += kGroup)
        teacher_group(teacher, classes, first, workspace.rows.subspan(first, std::min(kGroup, rows - first)), out, sums);
    Distilled result = with_alpha(rule, rows, sums);
    const Mix<Real> mix(result.alpha, rows);
    for (std::size_t first = 0; first < rows; first += kGroup) {
        Group group(std::min(kGroup, rows - first));
        for (std::size_t j = 0; j < group.rows; ++j) {
            const std::size_t u = first + j, at = u * classes;
            const TeacherRow& row = workspace.rows[u];
            Real *const f = workspace.logits.data(), *const grad = out.grad.data() + at;
            student_row(student.data() + at, grad, classes, row, f, group, j);
            const auto one_over_f = static_cast<Real>(1 / group.normaliser[j]), one_over_e = static_cast<Real>(1 / row.sum);
            if (out.probabilities.empty()) combine_row<false>(grad, f, static_cast<Real*>(nullptr), classes, one_over_f, one_over_e, mix);
            else combine_row<true>(grad, f, out.probabilities.data() + at, classes, one_over_f, one_over_e, mix);
            grad[row.label] -= mix.hard;
        }
        finish_student(group, first, out, sums);
    }
    result.loss = loss_of(result.alpha, rows, sums);
    return result;
}

}  // namespace
}  // namespace fedbench::distillation
