// Finding the values that lie in memory.
#include "core/analysis/place/boundaries.h"

#include <string_view>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/sharding/device_groups.h"

namespace hloscope::analysis {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// What an asynchronous pair runs has its value at the done.
static bool IsHalf(Opcode opcode) {
  return hlo::HasFlag(opcode, hlo::kFlagStart) || hlo::HasFlag(opcode, hlo::kFlagDone) ||
         opcode == Opcode::kAsyncUpdate;
}

bool IsKernelCall(const Module& module, const hlo::Instruction& i) {
  if (i.opcode != Opcode::kCall) return false;
  const InstructionId id(static_cast<uint32_t>(&i - module.instructions().data()));
  const auto small = hlo::FrontendValue(module, id, "xla_cpu_small_call").value_or("");
  if (small == "true" || small == "\"true\"") return true;
  const auto* config = module.Get<hlo::BackendConfig>(i, AttributeKey::kBackendConfig);
  if (config == nullptr) return false;
  constexpr std::string_view kKey = "\"outer_dimension_partitions\":[";
  const std::string_view text = module[config->text];
  const size_t at = text.find(kKey);
  return at != std::string_view::npos && at + kKey.size() < text.size() &&
         text[at + kKey.size()] != ']';
}

std::vector<bool> OutsideKernels(const Module& module) {
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::vector<bool> outside(module.computations().size(), false);
  outside[module.entry_id().index] = true;
  for (const hlo::ComputationId id : graph.callers_first()) {
    if (!outside[id.index]) continue;
    for (const hlo::Call& call : graph.calls(id)) {
      const hlo::Instruction& caller = module[call.caller];
      const bool controls = hlo::Info(caller.opcode).category == hlo::Category::kControl;
      if (controls && !IsHalf(caller.opcode) && !IsKernelCall(module, caller)) {
        outside[call.callee.index] = true;
      }
    }
  }
  return outside;
}

std::vector<InstructionId> BoundariesOf(const Module& module) {
  const std::vector<bool> outside = OutsideKernels(module);
  std::vector<InstructionId> boundaries;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const hlo::Instruction& i = module.instructions()[k];
    if (!outside[i.computation.index]) continue;
    const bool is_half =
        hlo::HasFlag(i.opcode, hlo::kFlagStart) || i.opcode == Opcode::kAsyncUpdate;
    if (is_half || hlo::HasTrait(i.opcode, hlo::kTraitNoCode)) continue;
    boundaries.push_back(InstructionId(k));
  }
  return boundaries;
}

}  // namespace hloscope::analysis
