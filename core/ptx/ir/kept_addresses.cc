// A loop goes back somewhere: what no branch goes back over is in none.
#include "core/ptx/ir/kept_addresses.h"

#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace hloscope::ptx {
namespace {

// By instruction; empty where branches go to what only a register says.
std::vector<bool> InLoops(const std::vector<Instruction>& code) {
  std::vector<int32_t> changes(code.size() + 1, 0);
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].operation == Operation::kBranchIndexed) return {};
    if (code[i].operation != Operation::kBra || code[i].target > i) continue;
    ++changes[code[i].target];
    --changes[i + 1];
  }
  std::vector<bool> in_loops(code.size());
  int32_t depth = 0;
  for (size_t i = 0; i < code.size(); ++i) in_loops[i] = (depth += changes[i]) > 0;
  return in_loops;
}

const Slot* AddressOf(const Kernel& kernel, const Instruction& in) {
  const Slot* const slots = kernel.slots.data() + in.first_slot;
  switch (in.operation) {
    case Operation::kLd:
      return slots + in.vector_width();
    case Operation::kSt:
    case Operation::kStmatrix:
      return slots;
    case Operation::kLdmatrix:
      return slots + in.slot_count - 1;
    default:
      return nullptr;
  }
}

}  // namespace

uint32_t KeepAddresses(Kernel& kernel) {
  const std::vector<bool> in_loops = InLoops(kernel.instructions);
  if (in_loops.empty()) return 0;
  struct Writes {
    uint32_t count = 0, last = 0;
    bool in_loop = false;
  };
  std::unordered_map<uint32_t, Writes> writes;  // by offset of the register
  for (uint32_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& in = kernel.instructions[i];
    for (uint32_t s = in.first_slot; s < in.first_slot + in.slot_count; ++s) {
      const Slot& slot = kernel.slots[s];
      if (!slot.written || !slot.present()) continue;
      Writes& of = writes[slot.offset];
      ++of.count;
      of.last = i;
      of.in_loop |= in_loops[i];
    }
  }
  // Register and offset, what is done there, to how many bytes.
  using Key = std::tuple<uint32_t, int64_t, Operation, StateSpace, uint32_t, uint32_t>;
  std::map<Key, uint32_t> kept;
  for (const bool wants_loop : {true, false}) {
    for (uint32_t i = 0; i < kernel.instructions.size(); ++i) {
      Instruction& in = kernel.instructions[i];
      const Slot* const address = in_loops[i] == wants_loop ? AddressOf(kernel, in) : nullptr;
      if (address == nullptr) continue;
      if (const auto found = writes.find(address->offset); found != writes.end()) {
        const Writes& of = found->second;
        if (of.count > 1 || of.in_loop || of.last > i) continue;
      }
      const Key key(address->offset, in.offsets[0], in.operation, ModifierStateSpace(in),
                    BytesOf(in.type) * in.vector_width(), in.warp_wide ? in.slot_count : 0);
      if (wants_loop) {
        in.kept = kept.try_emplace(key, static_cast<uint32_t>(kept.size() + 1)).first->second;
      } else if (const auto found = kept.find(key); found != kept.end()) {
        in.kept = found->second;
      }
    }
  }
  return static_cast<uint32_t>(kept.size());
}

}  // namespace hloscope::ptx
