// KernelFacts: a walk over the instructions, and pointers followed through registers.
#include "core/ptx/checks/kernel_facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/ptx/ir/accesses.h"

namespace hloscope::ptx {
namespace {

// Which parameters a register may point into: a bit for each of the first 63, the last for the
// others.
using Origins = uint64_t;
constexpr Origins kAny = ~Origins{0};
Origins OriginOf(size_t parameter) { return Origins{1} << std::min<size_t>(parameter, 63); }

class Pointers {
 public:
  explicit Pointers(const Kernel& kernel) : kernel_(kernel) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Instruction& in : kernel.instructions) changed |= Step(in);
    }
  }

  Origins Of(const Slot& slot) const {
    const auto found = origins_.find(slot.offset);
    return found == origins_.end() ? 0 : found->second;
  }

 private:
  bool Step(const Instruction& in) {
    const Slot* const slots = kernel_.slots.data() + in.first_slot;
    Origins from = 0;
    if (in.operation == Operation::kLd) {
      from = Loaded(in, slots[in.vector_width()]);
    } else {
      for (uint32_t i = 0; i < in.slot_count; ++i) {
        if (!slots[i].written) from |= Of(slots[i]);
      }
    }
    if (from == 0) return false;
    bool changed = false;
    for (uint32_t i = 0; i < in.slot_count; ++i) {
      if (!slots[i].written || !slots[i].present() || slots[i].bytes < 4) continue;
      Origins& to = origins_[slots[i].offset];
      changed |= (to | from) != to;
      to |= from;
    }
    return changed;
  }

  // A pointer out of memory may be any, one out of the parameters is known.
  Origins Loaded(const Instruction& in, const Slot& address) const {
    if (BytesOf(in.type) < 8) return 0;
    const StateSpace space = ModifierStateSpace(in);
    if (space != StateSpace::kParam && space != StateSpace::kParamEntry)
      return space == StateSpace::kLocal ? kAny : 0;
    if ((address.offset & Slot::kConstant) == 0) return kAny;
    uint64_t at = 0;
    std::copy_n(kernel_.constants.data() + (address.offset & ~Slot::kConstant), 8,
                reinterpret_cast<uint8_t*>(&at));
    at += static_cast<uint64_t>(in.offsets[0]);
    for (size_t i = 0; i < kernel_.parameters.size(); ++i) {
      const Parameter& parameter = kernel_.parameters[i];
      if (at >= parameter.offset && at < parameter.offset + parameter.bytes) return OriginOf(i);
    }
    return kAny;
  }

  const Kernel& kernel_;
  std::unordered_map<uint32_t, Origins> origins_;  // by offset of the register
};

CopyGroup GroupOf(std::string_view form) {
  if (form == "cp.async.commit_group") return CopyGroup::kCommit;
  if (form == "cp.async.wait_group") return CopyGroup::kWait;
  return form == "cp.async.wait_all" ? CopyGroup::kWaitAll : CopyGroup::kNone;
}

}  // namespace

KernelFacts FactsOf(const Kernel& kernel) {
  KernelFacts facts;
  facts.paths = PathsOf(kernel);
  const Pointers pointers(kernel);
  Origins written = 0;
  for (size_t pc = 0; pc < kernel.instructions.size(); ++pc) {
    const Instruction& in = kernel.instructions[pc];
    for (const Access& access : AccessesOf(in)) {
      const bool global = !IsShared(access.space) && access.space != StateSpace::kLocal;
      if (access.space == StateSpace::kParam || access.space == StateSpace::kParamEntry) continue;
      if (!global || access.space == StateSpace::kNone)
        facts.shared_grain = std::min(facts.shared_grain, access.bytes);
      if (!global) continue;
      facts.global_grain = std::min(facts.global_grain, access.bytes);
      facts.updates_global |= access.mode == AccessMode::kUpdate;
      if (access.writes()) {
        const Origins origins = pointers.Of(kernel.slots[in.first_slot + access.operand]);
        written |= origins == 0 ? kAny : origins;
      } else if (IsOrdered(in)) {
        facts.orders_blocks = true;
      }
    }
    facts.has_swaps |= in.operation == Operation::kAtomCas;
    facts.has_tensor_memory |= in.operation == Operation::kTensorAllocate;
    facts.has_barriers |= in.operation == Operation::kBarrierInit;
    const CopyGroup group =
        in.operation == Operation::kNop ? GroupOf(kernel.forms[pc]) : CopyGroup::kNone;
    if (group == CopyGroup::kNone) continue;
    facts.copy_groups.resize(kernel.instructions.size(), CopyGroup::kNone);
    facts.copy_groups[pc] = group;
  }
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    facts.writes.push_back((written & OriginOf(i)) != 0);
  return facts;
}

}  // namespace hloscope::ptx
