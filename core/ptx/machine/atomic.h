// What an atomic leaves behind.
#pragma once

#include <cstdint>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Where `old` was, by the operation and type of atom, red and copies that reduce; of atom.cas,
// which compares with `value`, `other`. For up to 64 bits.
uint64_t AtomicResult(const Instruction& instruction, uint64_t old, uint64_t value, uint64_t other);

}  // namespace hloscope::ptx
