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
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    return weighted_sum<Real>(w, rows, result, chosen);
}

template <typename Real>
double dot_of(const py::object& a, const py::object& b, const std::string& isa) {
    const auto x = vector_of<Real>("a", a);
    const auto y = vector_of<Real>("b", b);
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    return dot<Real>(x, y, chosen);
}

template <typename Real>
std::tuple<double, double, double, double> movement_of(const py::object& x, const py::object& base, const py::object& delta,
                                                       const std::string& isa) {
    const auto at = vector_of<Real>("x", x);
    const auto from = vector_of<Real>("base", base, at.size()), other = vector_of<Real>("delta", delta, at.size());
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    const Movement sums = movement<Real>(at, from, other, chosen);
    return {sums.x2, sums.moved2, sums.delta2, sums.product};
}

py::object row_dots_of(const py::object& matrix, const py::object& vector) {
    const auto rows = matrix_of<double>("matrix", matrix);
    const auto x = vector_of<double>("vector", vector, side_of(matrix, 1));
    std::vector<double> out(side_of(matrix, 0));
    row_dots(rows, x, out);
    return take(std::move(out));
}

}  // namespace

void register_accumulate(py::module_& module) {
    const py::arg_v isa = py::arg("isa") = "";
    module.def("weighted_sum", by_dtype<1>(&weighted_sum_into<float>, &weighted_sum_into<double>), py::arg("weights"), py::arg("vectors"),
               py::arg("out"), isa);
    module.def("movement", by_dtype<0>(&movement_of<float>, &movement_of<double>), py::arg("x"), py::arg("base"), py::arg("delta"), isa);
    module.def("row_dots", &row_dots_of, py::arg("matrix"), py::arg("vector"));
    module.def("dot", by_dtype<0>(&dot_of<float>, &dot_of<double>), py::arg("a"), py::arg("b"), isa);
}

}  // namespace fedbench::bindings
