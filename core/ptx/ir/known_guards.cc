// Constants of predicates are followed through each basic block, what is read from the end of each
// run.
#include "core/ptx/ir/known_guards.h"

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "core/ptx/ir/basic_blocks.h"

namespace hloscope::ptx {
namespace {

bool IsConstant(const Slot& slot) { return (slot.offset & Slot::kConstant) != 0; }

// Registers whose lanes another lane may ask for, whether they take part or not.
std::unordered_set<uint32_t> AskedByLanes(const Kernel& kernel) {
  std::unordered_set<uint32_t> asked;
  for (const Instruction& in : kernel.instructions) {
    if (!in.warp_wide && !in.group_wide) continue;
    for (uint32_t s = in.first_slot; s < in.first_slot + in.slot_count; ++s)
      asked.insert(kernel.slots[s].offset);
  }
  return asked;
}

}  // namespace

std::vector<bool> GuardsThatHold(const Kernel& kernel) {
  std::vector<bool> hold(kernel.instructions.size(), false);
  const auto blocks = BasicBlocksOf(kernel);
  if (!blocks) return hold;
  std::unordered_map<uint32_t, uint32_t> known;  // predicates: a bit for each lane
  for (const BasicBlock& block : *blocks) {
    known.clear();
    for (uint32_t i = block.first; i < block.end; ++i) {
      const Instruction& in = kernel.instructions[i];
      if (in.guard != Slot::kAbsent) {
        const auto found = known.find(in.guard);
        hold[i] = found != known.end() && found->second == (in.guard_negated ? 0 : ~0u);
      }
      const Slot* const slots = kernel.slots.data() + in.first_slot;
      for (uint32_t s = 0; s < in.slot_count; ++s) {
        if (slots[s].written && slots[s].bytes == 0) known.erase(slots[s].offset);
      }
      const bool sets = in.operation == Operation::kMov && in.type == Type::kPred &&
                        in.guard == Slot::kAbsent && slots[0].present() && IsConstant(slots[1]);
      if (!sets) continue;
      uint32_t value;
      std::memcpy(&value, kernel.constants.data() + (slots[1].offset & ~Slot::kConstant), 4);
      known[slots[0].offset] = slots[1].negated ? ~value : value;
    }
  }
  return hold;
}

std::vector<bool> LostMoves(const Kernel& kernel, const std::vector<uint32_t>& run_ends) {
  std::vector<bool> lost(kernel.instructions.size(), false);
  const std::unordered_set<uint32_t> asked = AskedByLanes(kernel);
  std::unordered_map<uint32_t, uint32_t> written_next;  // registers, their bytes
  for (size_t i = kernel.instructions.size(); i-- > 0;) {
    const Instruction& in = kernel.instructions[i];
    if (run_ends[i] == i) {  // in no run
      written_next.clear();
      continue;
    }
    const Slot* const slots = kernel.slots.data() + in.first_slot;
    bool is_lost = in.operation == Operation::kMov;
    for (uint32_t s = 0; s < in.slot_count; ++s) {
      if (!slots[s].written || !slots[s].present()) continue;
      const auto found = written_next.find(slots[s].offset);
      is_lost &= found != written_next.end() && found->second >= slots[s].bytes &&
                 !asked.contains(slots[s].offset);
    }
    lost[i] = is_lost;
    for (uint32_t s = 0; s < in.slot_count; ++s) {
      if (slots[s].written && slots[s].present()) written_next[slots[s].offset] = slots[s].bytes;
    }
    for (uint32_t s = 0; s < in.slot_count; ++s) {
      if (!slots[s].written) written_next.erase(slots[s].offset);
    }
  }
  return lost;
}

}  // namespace hloscope::ptx
