// Which vector instructions the kernels use: chosen at run time, so that one build runs everywhere.
// Of all kernels only local training (train.hpp) has bits that depend on it.
#pragma once

#include <string>

namespace fedbench {

/// Ascending: each has what those before it have. avx2 includes fma; avx512 is f, dq, bw and vl.
enum class InstructionSet { portable, avx2, avx512 };

/// The best one of this machine and build, or what FEDBENCH_ISA names. Throws std::invalid_argument
/// if the machine lacks that or the name is unknown.
InstructionSet instruction_set();

/// The one named, "" is instruction_set(). Throws std::invalid_argument for an unknown name and for
/// one beyond instruction_set().
InstructionSet instruction_set_named(const std::string& name);

const char* name_of(InstructionSet isa);

}  // namespace fedbench
