#include <pybind11/pybind11.h>

#include "fedbench/accumulate.hpp"
#include "register.hpp"

namespace py = pybind11;

PYBIND11_MODULE(_core, module) {
    module.doc() = "fedbench's C++ core; use it through fedbench.kernels";
    module.attr("__version__") = FEDBENCH_VERSION;
    module.def(
        "build_info",
        [] {
            py::dict info;
            info["version"] = FEDBENCH_VERSION;
            info["compiler"] = FEDBENCH_COMPILER;
            info["flags"] = FEDBENCH_FLAGS;
#ifdef NDEBUG
            info["ndebug"] = true;
#else
            info["ndebug"] = false;
#endif
            info["cuda"] = false;
            info["instruction_set"] = fedbench::name_of(fedbench::instruction_set());
            return info;
        },
        "How this extension was built, and the instruction set that it uses on this machine.");
    fedbench::bindings::register_random(module);
    fedbench::bindings::register_scheduler(module);
    fedbench::bindings::register_hindsight(module);
    fedbench::bindings::register_accumulate(module);
    fedbench::bindings::register_distill(module);
    fedbench::bindings::register_optimise(module);
}
