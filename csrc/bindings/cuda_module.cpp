#include "cuda_arrays.hpp"
#include "register_cuda.hpp"

namespace py = pybind11;

namespace {

/// Turns a CudaError into fedbench.errors.CudaError.
void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const fedbench::cuda::CudaError& error) {
        const py::object type = py::module_::import("fedbench.errors").attr("CudaError");
        PyErr_SetString(type.ptr(), error.what());
    }
}

}  // namespace

PYBIND11_MODULE(_cuda, module) {
    using fedbench::bindings::DeviceArray;
    module.doc() = "fedbench's kernels for a GPU; use it through fedbench.kernels.cuda";
    module.attr("architectures") = FEDBENCH_CUDA_ARCHITECTURES;
    py::register_local_exception_translator(translate);
    py::class_<DeviceArray>(module, "DeviceArray", "Device memory with a shape; other libraries read it by its interface.")
        .def_property_readonly("__cuda_array_interface__", &DeviceArray::interface)
        .def_property_readonly("shape", [](const DeviceArray& a) { return py::tuple(py::cast(a.view().shape)); })
        .def_property_readonly("dtype", [](const DeviceArray& a) { return a.view().type; })
        .def("__repr__", [](const DeviceArray& a) { return "DeviceArray " + a.view().describe(); });
    fedbench::bindings::register_cuda_vectors(module);
    fedbench::bindings::register_cuda_distill(module);
}
