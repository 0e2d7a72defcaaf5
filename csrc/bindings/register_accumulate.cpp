#include <pybind11/stl.h>

#include "arrays.hpp"
#include "fedbench/accumulate.hpp"
#include "register.hpp"

namespace fedbench::bindings {

namespace {

InstructionSet parse_isa(const std::string& name) {
    if (name.empty()) return instruction_set();
    if (name == "portable") return InstructionSet::portable;
    if (name == "avx2" && std::string(name_of(instruction_set())) == "avx2") return InstructionSet::avx2;
    throw py::value_error("isa: expected portable, or avx2 where it is in use, got " + name);
}

/// Rows of a (K, d) array, or a sequence of K vectors of length d; `kept` holds what a lazy sequence hands out.
template <typename Real>
std::vector<const Real*> rows_of(const py::object& vectors, std::size_t d, py::list& kept) {
    std::vector<const Real*> rows;
    if (py::isinstance<py::array>(vectors)) {
        if (!is_plain<Real>(vectors, 2)) refuse("vectors", std::string(type_name<Real>()) + " (K, d) C-contiguous", vectors);
        const auto matrix = py::reinterpret_borrow<py::array_t<Real>>(vectors);
        if (static_cast<std::size_t>(matrix.shape(1)) != d) refuse("vectors", "rows of length " + std::to_string(d), vectors);
        for (py::ssize_t k = 0; k < matrix.shape(0); ++k) rows.push_back(matrix.data() + k * matrix.shape(1));
        return rows;
    }
    for (const py::handle& vector : vectors) {
        kept.append(vector);
        const auto view = vector_of<Real>("vectors[" + std::to_string(rows.size()) + "]", vector);
        if (view.size() != d) refuse("vectors[" + std::to_string(rows.size()) + "]", "length " + std::to_string(d), vector);
        rows.push_back(view.data());
    }
    return rows;
}

template <typename Real>
double weighted_sum_into(const py::object& weights, const py::object& vectors, const py::object& out, const std::string& isa) {
    const auto w = vector_of<double>("weights", weights);
    const auto result = output_of<Real>("out", out);
    py::list kept;
    const auto rows = rows_of<Real>(vectors, result.size(), kept);
    for (const Real* row : rows)
        if (row < result.data() + result.size() && result.data() < row + result.size())
            throw py::value_error("out: must not overlap one of the vectors");
    const InstructionSet chosen = parse_isa(isa);
    const py::gil_scoped_release release;
    return weighted_sum<Real>(w, rows, result, chosen);
}

template <typename Real>
double dot_of(const py::object& a, const py::object& b, const std::string& isa) {
    const auto x = vector_of<Real>("a", a);
    const auto y = vector_of<Real>("b", b);
    const InstructionSet chosen = parse_isa(isa);
    const py::gil_scoped_release release;
    return dot<Real>(x, y, chosen);
}

}  // namespace

void register_accumulate(py::module_& module) {
    module.def("weighted_sum_float32", &weighted_sum_into<float>, py::arg("weights"), py::arg("vectors"), py::arg("out"), py::arg("isa") = "");
    module.def("weighted_sum_float64", &weighted_sum_into<double>, py::arg("weights"), py::arg("vectors"), py::arg("out"), py::arg("isa") = "");
    module.def("dot_float32", &dot_of<float>, py::arg("a"), py::arg("b"), py::arg("isa") = "");
    module.def("dot_float64", &dot_of<double>, py::arg("a"), py::arg("b"), py::arg("isa") = "");
}

}  // namespace fedbench::bindings
