#include <pybind11/stl.h>

#include "arrays.hpp"
#include "register.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

template <typename Real>
double weighted_sum_into(const py::object& weights, const py::object& vectors, const py::object& out, const std::string& isa) {
    const auto w = vector_of<double>("weights", weights);
    const auto result = output_of<Real>("out", out);
    py::list kept;
    const auto rows = rows_of<Real>(vectors, result.size(), kept);
    std::vector<Extent> extents{extent_of("out", result), extent_of("the weights", w)};
    for (const Real* row : rows) extents.push_back({"one of the vectors", row, result.size_bytes()});
    refuse_overlap(extents, 1);
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
    module.def("weighted_sum_float32", &weighted_sum_into<float>, py::arg("weights"), py::arg("vectors"), py::arg("out"),
               py::arg("isa") = "");
    module.def("weighted_sum_float64", &weighted_sum_into<double>, py::arg("weights"), py::arg("vectors"), py::arg("out"),
               py::arg("isa") = "");
    module.def("dot_float32", &dot_of<float>, py::arg("a"), py::arg("b"), py::arg("isa") = "");
    module.def("dot_float64", &dot_of<double>, py::arg("a"), py::arg("b"), py::arg("isa") = "");
}

}  // namespace fedbench::bindings
