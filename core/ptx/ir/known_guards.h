// What a kernel says that makes no difference when it runs: guards that hold for all lanes, and
// moves whose values nobody reads. Triton writes both around every load.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// By instruction: its guard holds for every lane that comes to it, since the predicate was last
// written in the same basic block, by a mov of a constant. False where there is no guard.
std::vector<bool> GuardsThatHold(const Kernel& kernel);

// By instruction: it only moves a value into registers that are written again, and not read but
// as a guard that holds, before the run of instructions that it is in ends. `run_ends` says for
// each instruction where the run from it on ends; all lanes that execute one instruction of a run
// execute the next.
std::vector<bool> LostMoves(const Kernel& kernel, const std::vector<uint32_t>& run_ends);

}  // namespace hloscope::ptx
