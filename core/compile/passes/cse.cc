// Common-subexpression elimination.
#include <algorithm>
#include <unordered_map>

#include "core/base/quick_hash.h"
#include "core/compile/passes/edit.h"
#include "core/compile/passes/equal_parts.h"
#include "core/hlo/analysis/effects.h"

namespace hloscope::compile {

using hlo::Category;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// True for what makes the same value of the same operands, and does nothing else. Devices, hosts
// and the code of custom calls are not ours to say that of.
bool IsPure(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  switch (Info(opcode).category) {
    case Category::kControl:
    case Category::kFusion:
    case Category::kCollective:
    case Category::kHostTransfer:
    case Category::kCustomCall:
      return false;
    default:
      return opcode != Opcode::kParameter && !HasFlag(opcode, hlo::kFlagStart) &&
             !HasFlag(opcode, hlo::kFlagDone) && !EffectsOf(module).Has(id);
  }
}

class ValueNumbering {
 public:
  explicit ValueNumbering(const std::shared_ptr<const Module>& module)
      : module_(*module), parts_(*module), edit_(module), first_(module->instructions().size()) {}

  Result<PassResult> Run() {
    for (const hlo::Computation& computation : module_.computations()) {
      known_.clear();
      for (uint32_t k = 0; k < computation.instruction_count; ++k) {
        Visit(InstructionId(computation.first_instruction + k));
      }
    }
    return edit_.Finish();
  }

 private:
  void Visit(InstructionId id) {
    first_[id.index] = id;
    if (edit_.IsPinned(id) || !IsPure(module_, id)) return;
    uint64_t hash = QuickMix(static_cast<uint64_t>(module_[id].opcode), module_[id].shape.index);
    hash = QuickMix(hash, parts_.HashAttributes(id));
    for (const InstructionId operand : module_.operands(id)) {
      hash = QuickMix(hash, first_[operand.index].index);
    }
    const auto [begin, end] = known_.equal_range(hash);
    const auto same =
        std::find_if(begin, end, [&](const auto& other) { return IsSame(other.second, id); });
    if (same == end) {
      known_.emplace(hash, id);
      return;
    }
    first_[id.index] = same->second;
    edit_.Replace(id, same->second);
  }

  bool IsSame(InstructionId a, InstructionId b) const {
    return module_[a].opcode == module_[b].opcode && module_[a].shape == module_[b].shape &&
           std::ranges::equal(
               module_.operands(a), module_.operands(b), {},
               [&](InstructionId id) { return first_[id.index]; },
               [&](InstructionId id) { return first_[id.index]; }) &&
           parts_.SameAttributes(a, b);
  }

  const Module& module_;
  const EqualParts parts_;
  Edit edit_;
  std::vector<InstructionId> first_;  // by instruction: the first of its value
  std::unordered_multimap<uint64_t, InstructionId> known_;
};

}  // namespace

Result<PassResult> EliminateCommonSubexpressions(const std::shared_ptr<const Module>& module,
                                                 Compilation&) {
  return ValueNumbering(module).Run();
}

}  // namespace hloscope::compile
