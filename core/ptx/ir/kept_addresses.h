// Accesses in loops whose addresses are the same in every turn.
#pragma once

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Sets Instruction::kept of loads, stores and matrices of eight rows whose address register is
// written before them by one instruction, outside of all loops: a lane then has one address in all
// turns. The same access outside of loops is one of them. Gives how many different ones there are.
uint32_t KeepAddresses(Kernel& kernel);

}  // namespace hloscope::ptx
