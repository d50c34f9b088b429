// Kernels by instruction: callers before what they call.
#include "core/graph/kernel_map.h"

#include "core/graph/lanes.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

uint8_t ColorOf(analysis::Place place, size_t number) {
  if (place == analysis::Place::kHost || place == analysis::Place::kHostMemory) return kHostColor;
  if (place == analysis::Place::kCollective) return kCollectiveColor;
  return static_cast<uint8_t>(number % kKernelColors);
}

// The operand whose value an instruction names; invalid where it computes one, or names several.
InstructionId NamedBy(const hlo::Module& module, InstructionId id) {
  auto operands = module.operands(id);
  const Opcode opcode = module[id].opcode;
  if (operands.empty() || opcode == Opcode::kTuple) return {};
  if (opcode != Opcode::kGetTupleElement) return operands[0];
  // Of a tuple that is written out: the element.
  const int64_t k = module.GetInt(module[id], hlo::AttributeKey::kIndex, 0);
  auto elements = module.operands(operands[0]);
  const bool is_tuple = module[operands[0]].opcode == Opcode::kTuple;
  return is_tuple && k >= 0 && static_cast<size_t>(k) < elements.size()
             ? elements[static_cast<size_t>(k)]
             : operands[0];
}

}  // namespace

KernelMap MapKernels(const hlo::Module& compiled, const analysis::Placement& placement) {
  KernelMap map;
  map.kernel_of.assign(compiled.instructions().size(), kNoKernel);
  const hlo::CallGraph& calls = hlo::CallGraphOf(compiled);
  for (ComputationId c : calls.callers_first()) {
    if (!calls.IsReached(c)) continue;
    const hlo::Computation& computation = compiled[c];
    const InstructionId caller = calls.FirstCaller(c);
    const uint32_t around = caller.valid() ? map.kernel_of[caller.index] : kNoKernel;
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      const InstructionId id(computation.first_instruction + k);
      const analysis::Place place = placement.instructions[id.index].place;
      uint32_t& mine = map.kernel_of[id.index];
      if (around != kNoKernel) {
        if (compiled[id].opcode != Opcode::kParameter) mine = around;
      } else if (Executes(place)) {
        mine = static_cast<uint32_t>(map.kernels.size());
        map.kernels.push_back({id, place, ColorOf(place, map.kernels.size())});
      } else if (const InstructionId named = NamedBy(compiled, id); named.valid()) {
        // Operands stand before.
        if (!hlo::HasTrait(compiled[id].opcode, hlo::kTraitRunsBody))
          mine = map.kernel_of[named.index];
      }
    }
  }
  return map;
}

std::vector<uint32_t> MapOperations(const hlo::Module& before, const analysis::Alignment& links,
                                    const KernelMap& after) {
  std::vector<uint32_t> kernel_of(before.instructions().size(), kNoKernel);
  for (uint32_t i = 0; i < kernel_of.size(); ++i) {
    for (const analysis::Link& link : links.Results(InstructionId(i))) {
      if (!Computes(link.reason)) continue;
      kernel_of[i] = after.kernel_of[link.after.index];
      if (kernel_of[i] != kNoKernel) break;
    }
  }
  return WithFoldedOperations(before, std::move(kernel_of));
}

namespace {

// Not what hands values on, or runs a body: that is in no kernel of its own accord.
bool IsFolded(const hlo::Module& module, const hlo::CallGraph& calls, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kConstant || opcode == Opcode::kBitcast) return true;
  const bool runs_body = hlo::HasTrait(opcode, hlo::kTraitRunsBody) && !calls.calls(id).empty();
  return !hlo::HasTrait(opcode, hlo::kTraitNoCode) && !runs_body;
}

}  // namespace

std::vector<uint32_t> WithFoldedOperations(const hlo::Module& before,
                                           std::vector<uint32_t> kernel_of) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(before);
  const hlo::UserIndex& users = hlo::UsersOf(before);
  for (ComputationId c : calls.callers_first()) {
    const hlo::Computation& computation = before[c];
    const InstructionId caller = calls.FirstCaller(c);
    const uint32_t around =
        caller.valid() && hlo::HasTrait(before[caller].opcode, hlo::kTraitAppliesScalar)
            ? kernel_of[caller.index]
            : kNoKernel;
    // Readers stand behind.
    for (uint32_t k = computation.instruction_count; k-- > 0;) {
      const InstructionId id(computation.first_instruction + k);
      const Opcode opcode = before[id].opcode;
      uint32_t& mine = kernel_of[id.index];
      if (opcode == Opcode::kParameter) mine = kNoKernel;
      if (mine != kNoKernel || !IsFolded(before, calls, id)) continue;
      mine = around;
      for (InstructionId user : users.users(id)) {
        if (mine != kNoKernel) break;
        mine = kernel_of[user.index];
      }
    }
  }
  return kernel_of;
}

KernelMembers::KernelMembers(const std::vector<uint32_t>& kernel_of, size_t kernels)
    : first_(kernels + 1, 0) {
  for (uint32_t kernel : kernel_of)
    first_[kernel == kNoKernel ? 0 : kernel + 1] += kernel != kNoKernel;
  for (size_t k = 1; k < first_.size(); ++k) first_[k] += first_[k - 1];
  members_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end());
  for (uint32_t i = 0; i < kernel_of.size(); ++i) {
    if (kernel_of[i] != kNoKernel) members_[next[kernel_of[i]]++] = InstructionId(i);
  }
}

bool IsOperation(const hlo::Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (hlo::HasTrait(opcode, hlo::kTraitNoCode)) return false;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  // What runs a body counts as what is in it.
  if (hlo::HasTrait(opcode, hlo::kTraitRunsBody) && !calls.calls(id).empty()) return false;
  const ComputationId c = module[id].computation;
  if (!calls.IsReached(c)) return false;
  const InstructionId caller = calls.FirstCaller(c);
  return !caller.valid() || hlo::HasTrait(module[caller].opcode, hlo::kTraitRunsBody);
}

}  // namespace hloscope::graph
