// Checks of the arguments of `distill`, on the CPU and on a GPU alike.
#pragma once

#include <stdexcept>
#include <string>

#include "fedbench/distill.hpp"

namespace fedbench::distillation {

inline void check_size(const char* name, std::size_t got, std::size_t wanted) {
    if (got != wanted)
        throw std::invalid_argument(std::string("distill: expected ") + std::to_string(wanted) + " elements in " + name + ", got " +
                                    std::to_string(got));
}

inline void check_optional(const char* name, std::size_t got, std::size_t wanted) {
    if (got != 0) check_size(name, got, wanted);
}

template <typename Real>
void check_sizes(std::size_t student, std::size_t teacher, std::size_t rows, std::size_t classes, const DistillRows<Real>& out) {
    if (classes < 2) throw std::invalid_argument("distill: expected at least 2 classes, got " + std::to_string(classes));
    if (rows == 0) throw std::invalid_argument("distill: expected at least one row, got none");
    check_size("student", student, rows * classes);
    check_size("teacher", teacher, rows * classes);
    check_size("grad", out.grad.size(), rows * classes);
    check_optional("probabilities", out.probabilities.size(), rows * classes);
    check_optional("label", out.label.size(), rows);
    check_optional("entropy", out.entropy.size(), rows);
    check_optional("kl", out.kl.size(), rows);
    check_optional("ce", out.ce.size(), rows);
}

}  // namespace fedbench::distillation
