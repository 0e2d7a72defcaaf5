#include <pybind11/native_enum.h>

#include "fedbench/cache.hpp"
#include "register.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

/// Returns rows that will be overwritten; the same array may stand for several arrivals.
template <typename Real>
std::vector<Real*> rows_to_write(const py::sequence& rows, std::size_t d) {
    std::vector<Real*> pointers;
    for (const py::handle& row : rows) {
        pointers.push_back(output_of<Real>("rows[" + std::to_string(pointers.size()) + "]", row, d).data());
    }
    return pointers;
}

template <typename Real>
void refuse_overlaps(std::span<Real> out, std::span<double> sum, const std::vector<Real*>& rows, const std::vector<const Real*>& vectors) {
    std::vector<Extent> extents{extent_of("out", out), extent_of("sum", sum)};
    std::vector<Real*> distinct = rows;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const Real* row : distinct) extents.push_back({"one of the rows", row, out.size_bytes()});
    const std::size_t outputs = extents.size();
    for (const Real* vector : vectors) extents.push_back({"one of the vectors", vector, out.size_bytes()});
    refuse_overlap(extents, outputs);
}

template <typename Real>
void update_cache_in(const py::object& weights, const py::object& vectors, const py::sequence& rows, const py::object& sum, double scale,
                     CacheOrder order, const py::object& out, const std::string& isa) {
    const auto to = output_of<Real>("out", out);
    const auto total = output_of<double>("sum", sum, to.size());
    py::list kept;
    const auto from = rows_of<Real>(vectors, to.size(), kept);
    const auto cached = rows_to_write<Real>(rows, to.size());
    refuse_overlaps<Real>(to, total, cached, from);
    const CacheUpdate<Real> update{vector_of<double>("weights", weights), from, cached, total, scale, order};
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    update_cache<Real>(update, to, chosen);
}

}  // namespace

void register_cache(py::module_& module) {
    py::native_enum<CacheOrder>(module, "CacheOrder", "enum.Enum", "When an arrival replaces its client's cached row.")
        .value("deferred", CacheOrder::deferred)
        .value("immediate", CacheOrder::immediate)
        .value("newest", CacheOrder::newest)
        .finalize();
    module.def("update_cache", by_dtype<6>(&update_cache_in<float>, &update_cache_in<double>), py::arg("weights"), py::arg("vectors"),
               py::arg("rows"), py::arg("sum"), py::arg("scale"), py::arg("order"), py::arg("out"), py::arg("isa") = "");
}

}  // namespace fedbench::bindings
