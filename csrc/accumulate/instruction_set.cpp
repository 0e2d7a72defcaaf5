#include "fedbench/instruction_set.hpp"

#include <cstdlib>
#include <stdexcept>

namespace fedbench {

namespace {

constexpr InstructionSet kAll[] = {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};

InstructionSet best() {
#if defined(FEDBENCH_HAVE_X86)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return InstructionSet::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return InstructionSet::avx2;
#endif
    return InstructionSet::portable;
}

/// Returns the instruction set of this name; `what` names the argument in messages.
InstructionSet parse(const std::string& name, InstructionSet limit, const char* what) {
    std::string known;
    for (InstructionSet isa : kAll) {
        if (isa > limit) break;
        if (name == name_of(isa)) return isa;
        known += (known.empty() ? "" : ", ") + std::string(name_of(isa));
    }
    throw std::invalid_argument(std::string(what) + ": expected one of " + known +
                                " (what this machine has and FEDBENCH_ISA allows), got " + name);
}

InstructionSet choose() {
    const char* wish = std::getenv("FEDBENCH_ISA");
    return wish == nullptr || *wish == '\0' ? best() : parse(wish, best(), "FEDBENCH_ISA");
}

}  // namespace

InstructionSet instruction_set() {
    static const InstructionSet chosen = choose();
    return chosen;
}

InstructionSet instruction_set_named(const std::string& name) {
    return name.empty() ? instruction_set() : parse(name, instruction_set(), "isa");
}

const char* name_of(InstructionSet isa) {
    switch (isa) {
        case InstructionSet::portable:
            return "portable";
        case InstructionSet::avx2:
            return "avx2";
        case InstructionSet::avx512:
            return "avx512";
    }
    return "unknown";
}

}  // namespace fedbench
