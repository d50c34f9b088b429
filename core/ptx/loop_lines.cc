// From the guard back through registers.
#include "core/ptx/loop_lines.h"

#include <algorithm>
#include <set>

namespace hloscope::ptx {

std::vector<uint32_t> LinesOfCondition(const Kernel& kernel, uint32_t branch, size_t most) {
  std::vector<uint32_t> open, lines;  // registers; the lines of what writes them
  std::set<uint32_t> seen;
  const auto want = [&](uint32_t offset) {
    if (offset == Slot::kAbsent || (offset & Slot::kConstant) != 0) return;
    if (seen.insert(offset).second) open.push_back(offset);
  };
  want(kernel.instructions[branch].guard);
  for (size_t i = 0; i < open.size() && lines.size() < most; ++i) {
    for (const Instruction& in : kernel.instructions) {
      const auto slots = kernel.slots.begin() + in.first_slot, end = slots + in.slot_count;
      const bool writes = std::any_of(
          slots, end, [&](const Slot& slot) { return slot.written && slot.offset == open[i]; });
      if (!writes) continue;
      if (std::ranges::find(lines, in.position.line) == lines.end())
        lines.push_back(in.position.line);
      want(in.guard);
      for (auto slot = slots; slot != end; ++slot) {
        if (!slot->written) want(slot->offset);
      }
    }
  }
  lines.resize(std::min(lines.size(), most));
  return lines;
}

}  // namespace hloscope::ptx
