#include "register.hpp"
#include "trainer.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

template <typename Real>
void register_trainer(py::module_& module, const char* name) {
    using T = Trainer<Real>;
    py::class_<T>(module, name, "Local training of one network over one set of examples; see csrc/include/fedbench/train.hpp.")
        .def(py::init<const std::vector<py::object>&, const std::vector<std::size_t>&, const py::object&, const py::object&, std::uint64_t,
                      std::size_t, std::size_t, const std::string&, bool, std::size_t, const py::object&>(),
             py::arg("layers"), py::arg("input_shape"), py::arg("x"), py::arg("y"), py::arg("seed"), py::arg("batch_size"),
             py::arg("threads"), py::arg("isa"), py::arg("shuffled") = true, py::arg("padding") = 0, py::arg("fill") = py::none())
        .def_property_readonly("dim", &T::dim)
        .def_property_readonly("isa", &T::isa)
        .def("train", &T::train, py::arg("jobs"), py::arg("progress"), "Local training of all jobs, into their arrays.")
        .def("set_shards", &T::set_shards, py::arg("rows"), py::arg("begin"), py::arg("count"), "The clients' rows of the examples.")
        .def("train_columns", &T::train_columns, py::arg("client"), py::arg("k"), py::arg("steps"), py::arg("rules"), py::arg("rule"),
             py::arg("out"), py::arg("matrix"), py::arg("row"), py::arg("sends"),
             "Local training of many jobs: one vector each, into rows of matrices.")
        .def("logits", &T::logits, py::arg("x"), py::arg("features"), py::arg("out"),
             "Logits (M n, C) of features (n, D) under models x (M, dim), in evaluation.")
        .def("forward", &T::forward, py::arg("x"), py::arg("features"), py::arg("masks"), py::arg("out"), "Logits, kept for one pullback.")
        .def("pullback", &T::pullback, py::arg("dlogits"), py::arg("out"), "Gradient of sum(dlogits * logits) of the last forward.");
}

template <typename Real>
py::tuple score(const py::object& logits, const py::object& labels) {
    const auto rows = matrix_of<Real>("logits", logits);
    const auto y = vector_of<std::int64_t>("labels", labels);
    const std::size_t classes = side_of(logits, 1);
    if (rows.size() != y.size() * classes) refuse("logits", "a row per label, " + std::to_string(y.size()), logits);
    for (std::int64_t label : y)
        if (label < 0 || static_cast<std::size_t>(label) >= classes)
            throw py::value_error("labels: must be in 0 .. " + std::to_string(classes - 1) + ", got " + std::to_string(label));
    std::vector<double> loss(y.size()), right(y.size());
    train::score<Real>(rows, y, classes, loss.data(), right.data());
    return py::make_tuple(take(std::move(loss)), take(std::move(right)));
}

}  // namespace

void register_train(py::module_& module) {
    register_trainer<float>(module, "LocalTrainerFloat32");
    register_trainer<double>(module, "LocalTrainerFloat64");
    module.def("score", by_dtype<0>(&score<float>, &score<double>), py::arg("logits"), py::arg("labels"),
               "Cross-entropy, and 1.0 where right, per row.");
}

}  // namespace fedbench::bindings
