#include "register_cuda.hpp"

PYBIND11_MODULE(_cuda, module) {
    module.doc() = "fedbench's kernels for a GPU; use it through fedbench.kernels.cuda";
    module.attr("architectures") = FEDBENCH_CUDA_ARCHITECTURES;
    fedbench::bindings::register_cuda(module);
}
