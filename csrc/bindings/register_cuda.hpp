#pragma once

#include <pybind11/pybind11.h>

namespace fedbench::bindings {

void register_cuda(pybind11::module_& module);
void register_cuda_vectors(pybind11::module_& module);
void register_cuda_distill(pybind11::module_& module);

}  // namespace fedbench::bindings
