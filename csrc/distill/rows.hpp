// The row passes behind distill.hpp, written once; a file per instruction set includes them (unnamed namespace: see lanes_math.hpp).
//
// Rows are taken in groups of one vector's width. Few classes: a lane is a row, so nothing is added across lanes. Many classes: a
// lane is every width-th class of a row. Both leave unnormalised exponentials in `probabilities` and `grad` and the sums in Group.
#pragma once

#include <algorithm>

#include "fedbench/distill.hpp"
#include "peaks.hpp"

namespace fedbench::distillation {
namespace {

inline constexpr std::size_t kFew = 32;    // classes
inline constexpr std::size_t kTerms = 32;  // terms of a lane that are added before they go to float64

/// Sums of a group's rows; e = exp(teacher - its maximum), f = exp(student - its maximum).
template <typename Real>
struct Group {
    static constexpr std::size_t size = Lanes<Real>::width;
    std::size_t rows = 0;
    double e[size], f[size];  // sums of e and f
    double weighted[size];    // sum e (teacher - max)
    double gap[size];         // sum e ((teacher - max) - (student - max))
    double mass[size];        // sum P
    double at_label[size];    // student[label] - max
    std::int64_t label[size];

    explicit Group(std::size_t count) : rows(count) {
        for (std::size_t j = 0; j < size; ++j) {
            e[j] = f[j] = mass[j] = 1;
            weighted[j] = gap[j] = at_label[j] = 0;
            label[j] = 0;
        }
    }
};

/// A lane's sums in float64; add takes the sum of at most kTerms terms.
template <typename Real>
struct Total {
    double lane[Lanes<Real>::width] = {};

    void add(typename Lanes<Real>::V terms) {
        for (std::size_t j = 0; j < Lanes<Real>::width; ++j) lane[j] += static_cast<double>(terms[j]);
    }
    double sum() const {
        double result = 0;
        for (double value : lane) result += value;
        return result;
    }
};

/// Four sums of one row, in the vectors' type.
template <typename Real>
struct Terms {
    typename Lanes<Real>::V a{}, b{}, c{}, d{};
};

template <typename Real>
struct Totals {
    Total<Real> a, b, c, d;

    void add(const Terms<Real>& terms) { a.add(terms.a), b.add(terms.b), c.add(terms.c), d.add(terms.d); }
};

/// step(i, count, terms) for every vector of a row, count < width in the last one only; kTerms of them between additions to float64.
template <typename Real, typename Step>
[[gnu::always_inline]] inline Totals<Real> over_row(std::size_t classes, const Step& step) {
    constexpr std::size_t width = Lanes<Real>::width;
    const std::size_t whole = classes - classes % width;
    Totals<Real> totals;
    for (std::size_t begin = 0; begin < whole; begin += kTerms * width) {
        const std::size_t end = std::min(whole, begin + kTerms * width);
        Terms<Real> terms;
        for (std::size_t i = begin; i < end; i += width) step(i, width, terms);
        totals.add(terms);
    }
    if (whole == classes) return totals;
    Terms<Real> terms;
    step(whole, classes - whole, terms);
    totals.add(terms);
    return totals;
}

/// Many classes, teacher logits: row j of the group.
template <typename Real>
void logits_row(const Real* teacher, const Real* student, std::size_t classes, Real* e_out, Real* f_out, Group<Real>& group,
                std::size_t j) {
    const Peak<Real> t = peak_of(teacher, classes);
    const Real s = largest_of(student, classes);
    const auto totals = over_row<Real>(
        classes, [=](std::size_t i, std::size_t count, Terms<Real> & terms) __attribute__((always_inline)) {
            const auto dt = load_part(teacher + i, count, t.value) - t.value;
            const auto ds = load_part(student + i, count, s) - s;
            const auto e = keep<Real>(exp_negative(dt), count), f = keep<Real>(exp_negative(ds), count);
            store_part(e_out + i, count, e);
            store_part(f_out + i, count, f);
            terms.a += e;
            terms.b += f;
            terms.c += e * dt;
            terms.d += e * (dt - ds);
        });
    group.e[j] = totals.a.sum();
    group.f[j] = totals.b.sum();
    group.weighted[j] = totals.c.sum();
    group.gap[j] = totals.d.sum();
    group.label[j] = t.index;
    group.at_label[j] = static_cast<double>(student[t.index]) - static_cast<double>(s);
}

/// sum P log P in float64; a P below the normal numbers counts as 0.
template <typename Real>
double negative_entropy(const Real* p, std::size_t classes) {
    Total<double> total;
    for (std::size_t i = 0; i < classes; i += 4) {
        double values[4] = {};
        for (std::size_t j = 0; j < std::min<std::size_t>(4, classes - i); ++j) values[j] = static_cast<double>(p[i + j]);
        const auto v = load(values);
        const auto none = v < 2.2250738585072014e-308;
        total.add(none ? Lanes<double>::V{} : v * log_positive(none ? Lanes<double>::V{} + 1.0 : v));
    }
    return total.sum();
}

/// Teacher probabilities: row j of the group. e is P itself and its normaliser 1.
template <typename Real>
void probabilities_row(const Real* teacher, const Real* student, std::size_t classes, Real* e_out, Real* f_out, Group<Real>& group,
                       std::size_t j) {
    const Peak<Real> t = peak_of(teacher, classes);
    const Real s = largest_of(student, classes);
    const auto totals = over_row<Real>(
        classes, [=](std::size_t i, std::size_t count, Terms<Real> & terms) __attribute__((always_inline)) {
            const auto p = load_part(teacher + i, count, Real{0});
            const auto ds = load_part(student + i, count, s) - s;
            const auto f = keep<Real>(exp_negative(ds), count);
            store_part(e_out + i, count, p);
            store_part(f_out + i, count, f);
            terms.a += p;
            terms.b += f;
            terms.c += p * ds;
        });
    group.weighted[j] = negative_entropy(teacher, classes);
    group.gap[j] = group.weighted[j] - totals.c.sum();
    group.mass[j] = totals.a.sum();
    group.f[j] = totals.b.sum();
    group.label[j] = t.index;
    group.at_label[j] = static_cast<double>(student[t.index]) - static_cast<double>(s);
}

/// width rows of `from` as columns; a row that is not there repeats the last one.
template <typename Real>
[[gnu::always_inline]] inline void transpose_in(const Real* from, std::size_t classes, std::size_t rows, Real* tile) {
    constexpr std::size_t width = Lanes<Real>::width;
    for (std::size_t j = 0; j < width; ++j) {
        const Real* row = from + std::min(j, rows - 1) * classes;
        for (std::size_t c = 0; c < classes; ++c) tile[c * width + j] = row[c];
    }
}

template <typename Real>
[[gnu::always_inline]] inline void transpose_out(const Real* tile, std::size_t classes, std::size_t rows, Real* to) {
    constexpr std::size_t width = Lanes<Real>::width;
    for (std::size_t j = 0; j < rows; ++j)
        for (std::size_t c = 0; c < classes; ++c) to[j * classes + c] = tile[c * width + j];
}

/// Few classes, teacher logits: a lane is a row.
template <typename Real>
void logits_group(const Real* teacher, const Real* student, std::size_t classes, Real* e_out, Real* f_out, Group<Real>& group) {
    using L = Lanes<Real>;
    using V = typename L::V;
    alignas(32) Real t[kFew * L::width], s[kFew * L::width];
    if (classes == 0) return;  // never: spares the compiler a warning
    transpose_in(teacher, classes, group.rows, t);
    transpose_in(student, classes, group.rows, s);
    V t_max = load(t), s_max = load(s), s_label = load(s);
    typename L::Index label{};
    for (std::size_t c = 1; c < classes; ++c) {
        const V tc = load(t + c * L::width), sc = load(s + c * L::width);
        const auto more = tc > t_max;
        label = more ? typename L::Index{} + static_cast<int>(c) : label;
        s_label = more ? sc : s_label;
        t_max = more ? tc : t_max;
        s_max = sc > s_max ? sc : s_max;
    }
    V e_sum{}, f_sum{}, weighted{}, gap{};
    for (std::size_t c = 0; c < classes; ++c) {
        const V dt = load(t + c * L::width) - t_max, ds = load(s + c * L::width) - s_max;
        const V e = exp_negative(dt), f = exp_negative(ds);
        store(t + c * L::width, e);
        store(s + c * L::width, f);
        e_sum += e;
        f_sum += f;
        weighted += e * dt;
        gap += e * (dt - ds);
    }
    transpose_out(t, classes, group.rows, e_out);
    transpose_out(s, classes, group.rows, f_out);
    for (std::size_t j = 0; j < L::width; ++j) {
        group.e[j] = e_sum[j], group.f[j] = f_sum[j], group.weighted[j] = weighted[j], group.gap[j] = gap[j];
        group.label[j] = label[j];
        group.at_label[j] = static_cast<double>(s_label[j]) - static_cast<double>(s_max[j]);
    }
}

/// H, KL and CE of a group's rows.
///   H = log E - weighted / E, KL = gap / E - log E + mass log F, CE = log F - at_label
template <typename Real>
void finish(const Group<Real>& group, std::size_t first, const DistillRows<Real>& out) {
    for (std::size_t k = 0; k < Group<Real>::size; k += 4) {
        const auto e = load(group.e + k), log_e = log_positive(e), log_f = log_positive(load(group.f + k));
        const auto entropy = log_e - load(group.weighted + k) / e;
        const auto kl = (load(group.gap + k) / e - log_e) + load(group.mass + k) * log_f;
        const auto ce = log_f - load(group.at_label + k);
        for (std::size_t j = 0; j < 4 && k + j < group.rows; ++j) {
            const std::size_t u = first + k + j;
            out.entropy[u] = entropy[j];
            out.kl[u] = kl[j];
            out.ce[u] = ce[j];
            out.label[u] = group.label[k + j];
            out.workspace[2 * u] = group.e[k + j];
            out.workspace[2 * u + 1] = group.f[k + j];
        }
    }
}

/// First pass: exponentials and sums of every row.
template <typename Real>
void measure(std::span<const Real> student, std::span<const Real> teacher, std::size_t classes, const DistillRows<Real>& out,
             Teacher kind) {
    const std::size_t rows = out.label.size();
    for (std::size_t first = 0; first < rows; first += Group<Real>::size) {
        Group<Real> group(std::min(Group<Real>::size, rows - first));
        if (kind == Teacher::logits && classes <= kFew) {
            const std::size_t at = first * classes;
            logits_group(teacher.data() + at, student.data() + at, classes, out.probabilities.data() + at, out.grad.data() + at, group);
        } else {
            const auto row = kind == Teacher::logits ? &logits_row<Real> : &probabilities_row<Real>;
            for (std::size_t j = 0; j < group.rows; ++j) {
                const std::size_t at = (first + j) * classes;
                row(teacher.data() + at, student.data() + at, classes, out.probabilities.data() + at, out.grad.data() + at, group, j);
            }
        }
        finish(group, first, out);
    }
}

/// Second pass, alpha known: P = e / E, grad = f / (F B) - e alpha / (E B), minus (1 - alpha) / B at the label.
template <typename Real>
void normalise(std::size_t classes, double alpha, const DistillRows<Real>& out) {
    const double rows = static_cast<double>(out.label.size());
    for (std::size_t u = 0; u < out.label.size(); ++u) {
        Real* __restrict e = out.probabilities.data() + u * classes;
        Real* __restrict f = out.grad.data() + u * classes;
        const double sum = out.workspace[2 * u];
        const Real inverse = static_cast<Real>(1 / sum);
        const Real student = static_cast<Real>(1 / (out.workspace[2 * u + 1] * rows)), teacher = static_cast<Real>(alpha / (sum * rows));
        for (std::size_t c = 0; c < classes; ++c) {
            f[c] = f[c] * student - e[c] * teacher;
            e[c] = e[c] * inverse;
        }
        f[out.label[u]] -= static_cast<Real>((1 - alpha) / rows);
    }
}

template <typename Real>
Distilled run(std::span<const Real> student, std::span<const Real> teacher, std::size_t classes, Alphas alphas,
              const DistillRows<Real>& out, Teacher kind) {
    const double rows = static_cast<double>(out.label.size());
    measure(student, teacher, classes, out, kind);
    double entropy = 0, loss = 0;
    for (double h : out.entropy) entropy += h;
    const double relative = entropy / rows / portable_log(static_cast<double>(classes));
    const double alpha = relative * alphas.max + (1 - relative) * alphas.min;
    for (std::size_t u = 0; u < out.label.size(); ++u) loss += alpha * out.kl[u] + (1 - alpha) * out.ce[u];
    normalise(classes, alpha, out);
    return {loss / rows, relative, alpha};
}

}  // namespace
}  // namespace fedbench::distillation
