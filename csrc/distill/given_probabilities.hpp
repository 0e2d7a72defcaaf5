// Distillation from a teacher that is given as probabilities, with any number of classes. This is
// rare, so it is plain: short rows are padded to whole packs.
#pragma once

#include "groups.hpp"

namespace fedbench::distillation {
namespace {

/// Writes f of one row into `f_out`, and sets row j of the group.
template <typename Real>
void given_row(const Real* p, const Real* student, std::size_t classes, Real* f_out, Group& group, std::size_t j) {
    constexpr std::size_t width = Pack<Real>::width;
    const Real peak = *std::max_element(student, student + classes);
    Total<Real> mass, normaliser, cross;
    for (std::size_t i = 0; i < classes; i += width) {
        const std::size_t count = std::min(width, classes - i);
        Real padded[2][width] = {}, f[width];
        std::copy(p + i, p + i + count, padded[0]);
        std::copy(student + i, student + i + count, padded[1]);
        const auto ds = load(padded[1]) - broadcast(peak);
        store(f, exp_negative(ds));
        std::fill(f + count, f + width, Real{0});
        std::copy(f, f + count, f_out + i);
        mass.add(load(padded[0])), normaliser.add(load(f)), cross.add(load(padded[0]) * ds);
    }
    group.gap[j] = group.negative_entropy[j] - cross.sum();
    group.mass[j] = mass.sum();
    group.normaliser[j] = normaliser.sum();
    group.at_label[j] = static_cast<double>(student[group.label[j]]) - static_cast<double>(peak);
}

template <typename Real>
Distilled given_probabilities(std::span<const Real> student, std::span<const Real> p, const DistillRule& rule, const DistillRows<Real>& out,
                              const DistillWorkspace<Real>& workspace) {
    const std::size_t classes = rule.classes, rows = workspace.rows.size();
    LossSums sums;
    for (std::size_t u = 0; u < rows; ++u) {
        const Real* const row = p.data() + u * classes;
        Group group(1);
        group.negative_entropy[0] = workspace.rows[u].negative_entropy = negative_entropy(row, classes);
        group.label[0] = workspace.rows[u].label = std::max_element(row, row + classes) - row;
        finish_teacher(group, u, out, sums);
    }
    Distilled result = with_alpha(rule, rows, sums);
    const Mix<Real> mix(result.alpha, rows);
    for (std::size_t u = 0; u < rows; ++u) {
        const std::size_t at = u * classes;
        Real* const grad = out.grad.data() + at;
        Group group(1);
        group.negative_entropy[0] = workspace.rows[u].negative_entropy;
        group.label[0] = workspace.rows[u].label;
        given_row(p.data() + at, student.data() + at, classes, grad, group, 0);
        const Real one_over_f = static_cast<Real>(1 / group.normaliser[0]);
        for (std::size_t c = 0; c < classes; ++c) grad[c] = residual(grad[c] * one_over_f, p[at + c], mix.minus_alpha, mix.scale);
        grad[group.label[0]] -= mix.hard;
        finish_student(group, u, out, sums);
    }
    if (!out.probabilities.empty()) std::copy(p.begin(), p.end(), out.probabilities.begin());
    result.loss = loss_of(result.alpha, rows, sums);
    return result;
}

}  // namespace
}  // namespace fedbench::distillation
