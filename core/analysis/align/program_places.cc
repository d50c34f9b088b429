#include "core/analysis/align/program_places.h"

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::analysis {

std::vector<uint32_t> PlacesInProgram(const hlo::Module& module) {
  std::vector<uint32_t> places(module.instructions().size(), UINT32_MAX);
  if (!module.entry_id().valid()) return places;
  struct Step {
    hlo::ComputationId computation;
    uint32_t next = 0;  // of its instructions
  };
  std::vector<bool> entered(module.computations().size());
  std::vector<Step> steps = {{module.entry_id()}};
  entered[module.entry_id().index] = true;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  uint32_t count = 0;
  while (!steps.empty()) {
    Step& step = steps.back();
    const hlo::Computation& computation = module[step.computation];
    if (step.next == computation.instruction_count) {
      steps.pop_back();
      continue;
    }
    const hlo::InstructionId id(computation.first_instruction + step.next);
    const auto called = calls.calls(id);
    const auto first = std::ranges::find_if(
        called, [&](const hlo::Call& call) { return !entered[call.callee.index]; });
    if (first == called.end()) {
      places[id.index] = count++;
      ++step.next;
    } else {
      entered[first->callee.index] = true;
      steps.push_back({first->callee});
    }
  }
  return places;
}

}  // namespace hloscope::analysis
