// Registers that may differ from block to block, found by following what they are computed of.
#include "core/ptx/checks/block_paths.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/ptx/checks/kernel_facts.h"

namespace hloscope::ptx {
namespace {

bool IsParameter(StateSpace space) {
  return space == StateSpace::kParam || space == StateSpace::kParamEntry;
}

class Paths {
 public:
  explicit Paths(const Kernel& kernel) : kernel_(kernel) {
    for (const auto& [special, offset] : kernel.specials) {
      if (DependsOnBlock(special)) differing_.insert(offset);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& in : kernel.instructions) changed |= Follow(in);
    }
  }

  BlockPaths Take() {
    BlockPaths paths;
    paths.are_the_same = true;
    for (uint32_t pc = 0; pc < kernel_.instructions.size(); ++pc) {
      const auto [begin, end] = SkippedBy(pc);
      if (end == 0 && !IsTheSame(kernel_.instructions[pc])) return {};
      if (end != 0) paths.may_skip.resize(kernel_.instructions.size());
      for (uint32_t i = begin; i < end; ++i) paths.may_skip[i] = true;
    }
    return paths;
  }

 private:
  std::span<const Slot> SlotsOf(const Instruction& in) const {
    return {kernel_.slots.data() + in.first_slot, in.slot_count};
  }
  bool Differs(const Slot& slot) const {
    return slot.present() && (slot.offset & Slot::kConstant) == 0 &&
           differing_.contains(slot.offset);
  }
  bool GuardDiffers(const Instruction& in) const {
    return in.guard != Slot::kAbsent && differing_.contains(in.guard);
  }

  // Whether what the instruction leaves in registers may differ.
  bool Makes(const Instruction& in) const {
    if (GuardDiffers(in)) return true;
    switch (in.operation) {
      case Operation::kLd:
        if (!IsParameter(ModifierStateSpace(in))) return true;
        break;
      // The carry is no operand.
      case Operation::kAddWithCarry:
      case Operation::kSubWithCarry:
      case Operation::kMadWithCarry:
        return true;
      default:
        if (ClassOf(in.operation) == InstructionClass::kMemory) return true;
        break;
    }
    return std::ranges::any_of(SlotsOf(in),
                               [this](const Slot& s) { return !s.written && Differs(s); });
  }

  bool Follow(const Instruction& in) {
    if (!Makes(in)) return false;
    bool changed = false;
    for (const Slot& slot : SlotsOf(in))
      changed |= slot.written && slot.present() && differing_.insert(slot.offset).second;
    return changed;
  }

  bool IsStoreToSame(const Instruction& in) const {
    return in.operation == Operation::kSt && IsShared(ModifierStateSpace(in)) && !IsOrdered(in) &&
           !Differs(SlotsOf(in)[0]);
  }

  // What may be skipped for what differs: a store, or a branch ahead and the stores that it leads
  // past, which are all there is; or a jump past them, where the branch leads to them. Else {0, 0}.
  std::pair<uint32_t, uint32_t> SkippedBy(uint32_t pc) const {
    const std::vector<Instruction>& code = kernel_.instructions;
    if (!GuardDiffers(code[pc])) return {};
    if (IsStoreToSame(code[pc])) return {pc, pc + 1};
    if (code[pc].operation != Operation::kBra) return {};
    if (code[pc].target == pc + 2 && code[pc + 1].operation == Operation::kBra &&
        code[pc + 1].guard == Slot::kAbsent) {
      ++pc;
    }
    const uint32_t end = code[pc].target;
    if (end <= pc || end > code.size()) return {};
    for (uint32_t i = pc + 1; i < end; ++i)
      if (code[i].guard != Slot::kAbsent || !IsStoreToSame(code[i])) return {};
    return {pc, end};
  }

  bool IsTheSame(const Instruction& in) const {
    const std::span<const Slot> s = SlotsOf(in);
    const StateSpace space = ModifierStateSpace(in);
    const bool is_same_address = !GuardDiffers(in) && !IsOrdered(in);
    switch (in.operation) {
      case Operation::kLd:
        if (IsShared(space)) return is_same_address && !Differs(s[in.vector_width()]);
        return space != StateSpace::kNone;  // a generic address may be one of shared memory
      case Operation::kSt:
        return IsShared(space) ? is_same_address && !Differs(s[0]) : space != StateSpace::kNone;
      case Operation::kCpAsync:
      case Operation::kCpAsyncIgnore:
      case Operation::kStmatrix:
        return is_same_address && !Differs(s[0]);
      case Operation::kLdmatrix:
        return is_same_address && !Differs(s.back());
      case Operation::kAtom:
      case Operation::kAtomCas:
      case Operation::kRed:
        return space == StateSpace::kGlobal;
      case Operation::kBra:
      case Operation::kRet:
      case Operation::kTrap:
      case Operation::kBar:
      case Operation::kWarpBar:
      case Operation::kNop:
        return !GuardDiffers(in) &&
               std::ranges::none_of(s, [this](const Slot& slot) { return Differs(slot); });
      default:
        return ClassOf(in.operation) != InstructionClass::kMemory &&
               ClassOf(in.operation) != InstructionClass::kControl && !in.group_wide &&
               !IsTensorMultiply(in);
    }
  }

  const Kernel& kernel_;
  std::unordered_set<uint32_t> differing_;  // offsets of registers
};

}  // namespace

BlockPaths PathsOf(const Kernel& kernel) { return Paths(kernel).Take(); }

}  // namespace hloscope::ptx
