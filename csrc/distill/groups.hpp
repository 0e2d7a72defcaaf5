// The sums of a group of rows, and H, KL and CE from them.
#pragma once

#include "fedbench/distill.hpp"
#include "sums.hpp"

namespace fedbench::distillation {
namespace {

inline constexpr std::size_t kGroup = 16;  // rows, at most

/// The sums of up to kGroup rows, with e = exp(teacher - its maximum) and f = exp(student - its
/// maximum) of each row.
struct Group {
    std::size_t rows;
    double sum[kGroup];               // E = sum of e; 1 if the teacher is P
    double log_sum[kGroup];           // log E
    double negative_entropy[kGroup];  // sum e (teacher - max)
    double normaliser[kGroup];        // F = sum of f
    double gap[kGroup];               // sum e ((teacher - max) - (student - max))
    double mass[kGroup];              // sum P
    double at_label[kGroup];          // student[label] - max
    std::int64_t label[kGroup];

    explicit Group(std::size_t count) : rows(count) {
        for (std::size_t j = 0; j < kGroup; ++j) {
            sum[j] = normaliser[j] = mass[j] = 1;
            log_sum[j] = negative_entropy[j] = gap[j] = at_label[j] = 0;
            label[j] = 0;
        }
    }
};

template <typename T>
void write(std::span<T> out, std::size_t at, T value) {
    if (!out.empty()) out[at] = value;
}

/// Computes log E and H.
template <typename Real>
void finish_teacher(Group& group, std::size_t first, const DistillRows<Real>& out, LossSums& sums) {
    double entropy[kGroup];
    for (std::size_t k = 0; k < group.rows; k += Pack<double>::width) {
        const auto e = load(group.sum + k), log_e = log_positive(e);
        store(group.log_sum + k, log_e);
        store(entropy + k, entropy_of(log_e, load(group.negative_entropy + k), e));
    }
    for (std::size_t j = 0; j < group.rows; ++j) {
        sums.entropy += entropy[j];
        write(out.entropy, first + j, entropy[j]);
        write(out.label, first + j, group.label[j]);
    }
}

/// Computes KL and CE.
template <typename Real>
void finish_student(const Group& group, std::size_t first, const DistillRows<Real>& out, LossSums& sums) {
    double kl[kGroup], ce[kGroup];
    for (std::size_t k = 0; k < group.rows; k += Pack<double>::width) {
        const auto log_f = log_positive(load(group.normaliser + k));
        store(kl + k, divergence_of(load(group.gap + k), load(group.sum + k), load(group.log_sum + k), load(group.mass + k), log_f));
        store(ce + k, cross_entropy_of(log_f, load(group.at_label + k)));
    }
    for (std::size_t j = 0; j < group.rows; ++j) {
        sums.kl += kl[j];
        sums.ce += ce[j];
        write(out.kl, first + j, kl[j]);
        write(out.ce, first + j, ce[j]);
    }
}

}  // namespace
}  // namespace fedbench::distillation
