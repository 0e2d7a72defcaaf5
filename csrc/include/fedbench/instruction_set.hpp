// Which vector instructions the kernels use: chosen at run time, so that one build runs everywhere.
// Of all kernels only local training (train.hpp) has bits that depend on it.
#pragma once

#include <string>

namespace fedbench {

/// In ascending order: each has the instructions of those before it. avx2 includes fma; avx512 is
/// f, dq, bw and vl.
enum class InstructionSet { portable, avx2, avx512 };

/// Returns the best instruction set of this machine and build, or the one that FEDBENCH_ISA names.
/// Throws std::invalid_argument if the machine lacks that or the name is unknown.
InstructionSet instruction_set();

/// Returns the instruction set of this name; "" is instruction_set(). Throws std::invalid_argument
/// for an unknown name and for one beyond instruction_set().
InstructionSet instruction_set_named(const std::string& name);

const char* name_of(InstructionSet isa);

}  // namespace fedbench
