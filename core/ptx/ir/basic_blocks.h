// Basic blocks: instructions of a kernel that are entered at the first and left behind the last.
#pragma once

#include <optional>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

struct BasicBlock {
  uint32_t first = 0, end = 0;  // instructions
  uint32_t next[2] = {0, 0};    // blocks that may follow
  uint32_t next_count = 0;
};

// An instruction behind which the thread is at its end.
inline bool EndsThread(const Instruction& in) {
  return in.operation == Operation::kRet || in.operation == Operation::kTrap;
}

// In the order of the code. Nothing where branches go to what only a register says.
std::optional<std::vector<BasicBlock>> BasicBlocksOf(const Kernel& kernel);

}  // namespace hloscope::ptx
