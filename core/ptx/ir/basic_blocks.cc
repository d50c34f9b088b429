// Blocks begin where branches go to, and behind branches and ends.
#include "core/ptx/ir/basic_blocks.h"

namespace hloscope::ptx {

std::optional<std::vector<BasicBlock>> BasicBlocksOf(const Kernel& kernel) {
  const auto& code = kernel.instructions;
  std::vector<bool> begins(code.size() + 1, false);
  begins[0] = true;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].operation == Operation::kBranchIndexed) return std::nullopt;
    const bool branches = code[i].operation == Operation::kBra;
    if (branches) begins[code[i].target] = true;
    if (branches || EndsThread(code[i])) begins[i + 1] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_of(code.size(), 0);
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (begins[i]) blocks.push_back({i, i, {}, 0});
    blocks.back().end = i + 1;
    block_of[i] = static_cast<uint32_t>(blocks.size() - 1);
  }
  for (BasicBlock& block : blocks) {
    const Instruction& last = code[block.end - 1];
    const auto add = [&](uint32_t instruction) {
      if (instruction < code.size()) block.next[block.next_count++] = block_of[instruction];
    };
    if (last.operation == Operation::kBra) add(last.target);
    const bool stops =
        last.guard == Slot::kAbsent && (last.operation == Operation::kBra || EndsThread(last));
    if (!stops) add(block.end);
  }
  return blocks;
}

}  // namespace hloscope::ptx
