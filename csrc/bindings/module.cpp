#include <pybind11/pybind11.h>

#include "fedbench/instruction_set.hpp"
#include "register.hpp"
#include "version.hpp"

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
            info["instruction_set"] = fedbench::name_of(fedbench::instruction_set());
            py::list sets;
            for (auto isa : {fedbench::InstructionSet::portable, fedbench::InstructionSet::avx2, fedbench::InstructionSet::avx512})
                if (isa <= fedbench::instruction_set()) sets.append(fedbench::name_of(isa));
            info["instruction_sets"] = sets;
            return info;
        },
        "How this extension was built, and the instruction set that it uses on this machine.");
    fedbench::bindings::register_random(module);
    fedbench::bindings::register_scheduler(module);
    fedbench::bindings::register_hindsight(module);
    fedbench::bindings::register_accumulate(module);
    fedbench::bindings::register_cache(module);
    fedbench::bindings::register_distill(module);
    fedbench::bindings::register_optimise(module);
    fedbench::bindings::register_probe(module);
    fedbench::bindings::register_train(module);
}
