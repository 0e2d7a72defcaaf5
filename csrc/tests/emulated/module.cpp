// The extension _cuda on the emulated runtime, for tests of fedbench.kernels.cuda without a GPU.
// Its device is the host's memory. It is not installed, and no import of fedbench finds it.
#include <pybind11/stl.h>

#include "../../bindings/register_cuda.hpp"
#include "cuda_runtime.h"

namespace py = pybind11;

PYBIND11_MODULE(_cuda_emulated, module) {
    module.doc() = "fedbench's kernels for a GPU, emulated on the host for tests";
    module.attr("architectures") = "emulated";
    fedbench::bindings::register_cuda(module);
    module.def("counts", [] {
        const auto number = [](cudaStream_t stream) { return reinterpret_cast<std::uintptr_t>(stream); };
        py::list waits;
        for (const auto& [stream, producer] : emulated::waits) waits.append(py::make_tuple(number(stream), number(producer)));
        py::dict result;
        result["launches"] = emulated::launches;
        result["to_host"] = emulated::to_host;
        result["to_device"] = emulated::to_device;
        result["waits"] = waits;
        result["host_waits"] = emulated::host_waits;
        return result;
    });
    module.def(
        "reset",
        [](int allocations) {
            emulated::launches = emulated::to_host = emulated::to_device = emulated::host_waits = 0;
            emulated::waits.clear();
            emulated::allocations = allocations;
        },
        py::arg("allocations") = -1);
}
