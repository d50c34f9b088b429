#include "core/debug/explain/diverge/difference_paths.h"

#include <utility>

#include "core/analysis/place/boundaries.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Module;

DifferencePaths::DifferencePaths(const Module& module, const std::vector<bool>& differs,
                                 std::span<const int64_t> results)
    : leads_(module.instructions().size()), entered_(module.computations().size()) {
  const InstructionId root = module.entry().root;
  leads_[root.index] = true;
  std::vector<bool> agrees(leads_.size());
  for (const InstructionId id : analysis::BoundariesOf(module)) {
    const bool is_control = hlo::Info(module[id].opcode).category == hlo::Category::kControl;
    agrees[id.index] = !differs[id.index] && !is_control;
  }
  std::vector<bool> is_result(module.shape(root).LeafCount());
  for (const int64_t result : results) {
    if (std::cmp_less(result, is_result.size())) is_result[static_cast<size_t>(result)] = true;
  }
  const hlo::Computation& entry = module.entry();
  for (uint32_t k = entry.instruction_count; k-- > 0;) {
    const InstructionId id(entry.first_instruction + k);
    if (!leads_[id.index]) continue;
    for (const hlo::ComputationId callee : module.CalledComputations(module[id]))
      Enter(module, callee);
    if (agrees[id.index] && id != root) continue;
    const bool is_results = id == root && module[id].opcode == hlo::Opcode::kTuple;
    size_t first = 0;
    for (const InstructionId operand : module.operands(id)) {
      const size_t count = module.shape(operand).LeafCount();
      bool leads = !is_results;
      for (size_t leaf = first; is_results && leaf < first + count; ++leaf)
        leads = leads || is_result[leaf];
      if (leads) leads_[operand.index] = true;
      first += count;
    }
  }
}

void DifferencePaths::Enter(const Module& module, hlo::ComputationId callee) {
  std::vector<hlo::ComputationId> left = {callee};
  while (!left.empty()) {
    const hlo::ComputationId next = left.back();
    left.pop_back();
    if (entered_[next.index]) continue;
    entered_[next.index] = true;
    for (uint32_t k = 0; k < module[next].instruction_count; ++k) {
      const InstructionId id(module[next].first_instruction + k);
      leads_[id.index] = true;
      for (const hlo::ComputationId inner : module.CalledComputations(module[id]))
        left.push_back(inner);
    }
  }
}

}  // namespace hloscope::debug
