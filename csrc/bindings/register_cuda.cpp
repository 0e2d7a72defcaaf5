// What the extension for a GPU has, whatever its name and its runtime.
#include "register_cuda.hpp"
#include "cuda_arrays.hpp"

namespace fedbench::bindings {

namespace {

/// Turns a CudaError into fedbench.errors.CudaError.
void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const cuda::CudaError& error) {
        const py::object type = py::module_::import("fedbench.errors").attr("CudaError");
        PyErr_SetString(type.ptr(), error.what());
    }
}

}  // namespace

void register_cuda(py::module_& module) {
    py::register_local_exception_translator(translate);
    py::class_<DeviceArray>(module, "DeviceArray", "Device memory with a shape; other libraries read it by its interface.",
                            py::module_local())  // the emulation has it too
        .def_property_readonly("__cuda_array_interface__", &DeviceArray::interface)
        .def_property_readonly("shape", [](const DeviceArray& a) { return py::tuple(py::cast(a.view().shape)); })
        .def_property_readonly("dtype", [](const DeviceArray& a) { return a.view().type; })
        .def("tolist", &DeviceArray::numbers, "Returns the numbers of a float64 array (n,), after waiting for its stream.")
        .def("__repr__", [](const DeviceArray& a) { return "DeviceArray " + a.view().describe(); });
    register_cuda_vectors(module);
    register_cuda_distill(module);
}

}  // namespace fedbench::bindings
