#include <array>
#include <vector>

#include "arrays.hpp"
#include "fedbench/distill.hpp"
#include "register.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

/// out = (grad,) or (grad, probabilities, label, entropy, kl, ce).
template <typename Real>
DistillRows<Real> rows_out(const py::tuple& out, std::size_t rows, std::size_t classes) {
    if (out.size() != 1 && out.size() != 6) throw py::value_error("out: expected (grad,) or (grad, probabilities, label, entropy, kl, ce)");
    DistillRows<Real> to{};
    to.grad = matrix_out<Real>("grad", out[0], rows, classes);
    if (out.size() == 1) return to;
    to.probabilities = matrix_out<Real>("probabilities", out[1], rows, classes);
    to.label = output_of<std::int64_t>("label", out[2], rows);
    to.entropy = output_of<double>("entropy", out[3], rows);
    to.kl = output_of<double>("kl", out[4], rows);
    to.ce = output_of<double>("ce", out[5], rows);
    return to;
}

/// Is kept from call to call, one per thread: a fresh megabyte costs more than the arithmetic on
/// it.
template <typename Real>
DistillWorkspace<Real> workspace_for(std::size_t rows, std::size_t classes) {
    thread_local std::vector<TeacherRow> teacher;
    thread_local std::vector<Real> logits;
    const std::size_t count = distill_workspace(rows, classes);
    if (teacher.size() < rows) teacher.resize(rows);
    if (logits.size() < count) logits.resize(count);
    return {std::span(teacher).first(rows), std::span(logits).first(count)};
}

template <typename Real>
std::tuple<double, double, double> distill_into(const py::object& student, const py::object& teacher, double alpha_min, double alpha_max,
                                                const py::tuple& out, bool probabilities, const std::string& isa) {
    const auto s = matrix_of<Real>("student", student), t = matrix_of<Real>("teacher", teacher);
    const std::size_t rows = side_of(student, 0), classes = side_of(student, 1);
    if (side_of(teacher, 0) != rows || side_of(teacher, 1) != classes)
        refuse("teacher", "the student's shape (" + std::to_string(rows) + ", " + std::to_string(classes) + ")", teacher);
    const auto to = rows_out<Real>(out, rows, classes);
    const std::array<Extent, 8> extents{extent_of("grad", to.grad),   extent_of("probabilities", to.probabilities),
                                        extent_of("label", to.label), extent_of("entropy", to.entropy),
                                        extent_of("kl", to.kl),       extent_of("ce", to.ce),
                                        extent_of("student", s),      extent_of("teacher", t)};
    refuse_overlap(extents, 6);
    const InstructionSet chosen = instruction_set_named(isa);
    const DistillRule rule{classes, {alpha_min, alpha_max}, probabilities ? Teacher::probabilities : Teacher::logits};
    const py::gil_scoped_release release;
    const auto workspace = workspace_for<Real>(rows, classes);
    const Distilled result = distill<Real>(s, t, rule, to, workspace, chosen);
    return {result.loss, result.relative_entropy, result.alpha};
}

}  // namespace

void register_distill(py::module_& module) {
    module.def("distill", by_dtype<0>(&distill_into<float>, &distill_into<double>), py::arg("student"), py::arg("teacher"),
               py::arg("alpha_min"), py::arg("alpha_max"), py::arg("out"), py::arg("probabilities") = false, py::arg("isa") = "");
}

}  // namespace fedbench::bindings
