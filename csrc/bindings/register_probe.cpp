#include <algorithm>

#include "arrays.hpp"
#include "probe.hpp"
#include "register.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

/// Returns (n,) int64 with every value in [0, 2^62), so that no sum of a time and an increment of a
/// benchmark's length overflows.
std::span<const std::int64_t> nanoseconds(const char* name, const py::object& values) {
    const auto view = vector_of<std::int64_t>(name, values);
    if (std::ranges::any_of(view, [](std::int64_t v) { return v < 0 || v >> 62 != 0; }))
        throw py::value_error(std::string(name) + ": expected nanoseconds in [0, 2^62)");
    return view;
}

Hold make_hold(const py::object& times) {
    const auto view = nanoseconds("times", times);
    if (view.empty()) throw py::value_error("times: expected at least one event, got none");
    return Hold(view);
}

py::tuple run_hold(Hold& hold, const py::object& increments) {
    const Hold::Result result = hold.run(nanoseconds("increments", increments));
    return py::make_tuple(result.time, result.checksum);
}

std::uint32_t read_all(const py::object& vectors) {
    if (!is_plain<float>(vectors, 2)) refuse("vectors", "float32 (K, d) C-contiguous", vectors);
    const std::size_t d = side_of(vectors, 1);
    py::list kept;
    const auto rows = rows_of<float>(vectors, d, kept);
    const py::gil_scoped_release release;
    return read_rows(rows, d);
}

}  // namespace

void register_probe(py::module_& module) {
    py::class_<Hold>(module, "Hold", "n pending events; the earliest comes up and is pushed again later.")
        .def(py::init(&make_hold), py::arg("times"))
        .def("run", &run_hold, py::arg("increments"), "(time of the last event, FNV-1a checksum over the clients in their order).");
    module.def("read_rows", &read_all, py::arg("vectors"), "Exclusive or of all bits: reads memory and does nothing else.");
}

}  // namespace fedbench::bindings
