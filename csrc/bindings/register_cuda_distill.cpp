#include <array>

#include "cuda_arrays.hpp"
#include "register_cuda.hpp"

namespace fedbench::bindings {

namespace {

using Shape = std::vector<py::ssize_t>;

/// Returns new arrays (grad,) or (grad, probabilities, label, entropy, kl, ce).
template <typename Real>
py::tuple new_arrays(const Shape& shape, bool all, cuda::Stream stream, bool later) {
    const auto grid = [&] { return py::cast(DeviceArray(type_name<Real>(), shape, stream, later)); };
    const auto column = [&](const char* type) { return py::cast(DeviceArray(type, {shape[0]}, stream, later)); };
    if (!all) return py::make_tuple(grid());
    return py::make_tuple(grid(), grid(), column("int64"), column("float64"), column("float64"), column("float64"));
}

template <typename Real>
std::span<const Real> grid(DeviceArguments& arguments, const char* name, const py::handle& object, const Shape& shape) {
    const DeviceView view = arguments.array(name, object, type_name<Real>(), "(B, C)");
    if (view.shape != shape)
        throw py::type_error(std::string(name) + ": expected the student's shape (" + std::to_string(shape[0]) + ", " +
                             std::to_string(shape[1]) + "), got " + view.describe());
    return {static_cast<const Real*>(view.data), view.size()};
}

template <typename Real>
DistillRows<Real> rows_out(DeviceArguments& arguments, const py::tuple& out, const Shape& shape) {
    if (out.size() != 1 && out.size() != 6) throw py::value_error("out: expected (grad,) or (grad, probabilities, label, entropy, kl, ce)");
    const auto rows = static_cast<std::size_t>(shape[0]);
    const auto grid_out = [&](const char* name, const py::handle& array) {
        return arguments.writeable<Real>(name, array, grid<Real>(arguments, name, array, shape));
    };
    DistillRows<Real> to{};
    to.grad = grid_out("grad", out[0]);
    if (out.size() == 1) return to;
    to.probabilities = grid_out("probabilities", out[1]);
    to.label = arguments.output<std::int64_t>("label", out[2], rows);
    to.entropy = arguments.output<double>("entropy", out[3], rows);
    to.kl = arguments.output<double>("kl", out[4], rows);
    to.ce = arguments.output<double>("ce", out[5], rows);
    return to;
}

/// Returns ((loss, relative entropy, alpha), arrays). `out` holds arrays, or says whether all six
/// are wanted, or the gradient alone.
py::tuple distill_into(const py::object& student, const py::object& teacher, double alpha_min, double alpha_max, const py::object& out,
                       bool probabilities, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    return arguments.with_type("student", student, [&]<typename Real>(std::type_identity<Real>) {
        const Shape shape = arguments.array("student", student, type_name<Real>(), "(B, C)").shape;
        const auto s = grid<Real>(arguments, "student", student, shape), t = grid<Real>(arguments, "teacher", teacher, shape);
        const py::tuple arrays =
            py::isinstance<py::tuple>(out) ? py::tuple(out) : new_arrays<Real>(shape, out.cast<bool>(), arguments.stream(), later);
        const auto to = rows_out<Real>(arguments, arrays, shape);
        const std::array<Extent, 8> extents{extent_of("grad", to.grad),   extent_of("probabilities", to.probabilities),
                                            extent_of("label", to.label), extent_of("entropy", to.entropy),
                                            extent_of("kl", to.kl),       extent_of("ce", to.ce),
                                            extent_of("student", s),      extent_of("teacher", t)};
        refuse_overlap(extents, 6);
        const DistillRule rule{
            static_cast<std::size_t>(shape[1]), {alpha_min, alpha_max}, probabilities ? Teacher::probabilities : Teacher::logits};
        const py::object numbers = numbers_of<3>(
            "distill", arguments, later, [&](double* found) { cuda::later::distill<Real>(s, t, rule, to, found, arguments.stream()); },
            [](const auto& found) { return std::tuple(found[0], found[1], found[2]); });
        return py::make_tuple(numbers, arrays);
    });
}

}  // namespace

void register_cuda_distill(py::module_& module) {
    module.def("distill", &distill_into, py::arg("student"), py::arg("teacher"), py::arg("alpha_min"), py::arg("alpha_max"), py::arg("out"),
               py::arg("probabilities") = false, py::arg("stream") = py::none(), py::arg("later") = false);
}

}  // namespace fedbench::bindings
