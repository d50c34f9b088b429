// Cutting by results.
#include "core/debug/reduce/differing_results.h"

#include <algorithm>

#include "core/debug/reduce/edit.h"

namespace hloscope::debug {

std::vector<int64_t> DifferingResults(const RunReport& report) {
  std::vector<int64_t> results;
  for (const RunOutput& output : report.outputs) {
    const bool differs = output.compared && !output.comparison.equal();
    if (!differs || output.comparison.index.empty()) continue;
    const int64_t result = output.comparison.index[0];
    if (std::ranges::find(results, result) == results.end()) results.push_back(result);
  }
  return results;
}

bool DiffersFromExpectedAlone(const RunReport& report) {
  bool differs = false;
  for (const RunOutput& output : report.outputs) {
    const LeafComparison* const leaf = WithReference(output, report.reference);
    if (leaf != nullptr && !leaf->equal()) return false;
    differs = differs || (output.compared && !output.comparison.equal());
  }
  return differs;
}

std::optional<Candidate> WithResults(const Candidate& whole, std::span<const int64_t> results) {
  const hlo::Module& module = *whole.module;
  const hlo::InstructionId root = module.entry().root;
  if (module[root].opcode != hlo::Opcode::kTuple || results.empty()) return std::nullopt;
  const auto operands = module.operands(root);
  std::vector<hlo::InstructionId> kept;
  for (const int64_t result : results) {
    if (result < 0 || static_cast<size_t>(result) >= operands.size()) return std::nullopt;
    kept.push_back(operands[static_cast<size_t>(result)]);
  }
  Edit edit(whole);
  edit.SetResults(kept);
  return edit.Finish();
}

}  // namespace hloscope::debug
