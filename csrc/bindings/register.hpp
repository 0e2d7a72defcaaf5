#pragma once

#include <pybind11/pybind11.h>

namespace fedbench::bindings {

void register_random(pybind11::module_& module);
void register_scheduler(pybind11::module_& module);
void register_hindsight(pybind11::module_& module);
void register_accumulate(pybind11::module_& module);
void register_cache(pybind11::module_& module);
void register_distill(pybind11::module_& module);
void register_optimise(pybind11::module_& module);
void register_probe(pybind11::module_& module);
void register_train(pybind11::module_& module);

}  // namespace fedbench::bindings
