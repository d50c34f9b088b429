#include "core/debug/explain/diverge/difference_paths.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/analysis/place/boundaries.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Module;

namespace {

// By instruction: its value was compared and agrees, so that a path ends there.
std::vector<bool> AgreeingValues(const Module& module, const std::vector<bool>& differs) {
  std::vector<bool> agrees(module.instructions().size());
  for (const InstructionId id : analysis::BoundariesOf(module)) {
    const bool is_control = hlo::Info(module[id].opcode).category == hlo::Category::kControl;
    agrees[id.index] = !differs[id.index] && !is_control;
  }
  return agrees;
}

// Whether what the user takes of its operand has one of those leaves; none: all do.
bool TakesOneOf(const Module& module, InstructionId user, std::span<const int64_t> leaves) {
  if (leaves.empty() || module[user].opcode != hlo::Opcode::kGetTupleElement) return true;
  const hlo::Shape& whole = module.shape(module.operands(user)[0]);
  const int64_t index = module.GetInt(module[user], hlo::AttributeKey::kIndex);
  int64_t first = 0;
  for (int64_t i = 0; i < index && std::cmp_less(i, whole.elements().size()); ++i)
    first += static_cast<int64_t>(whole.elements()[static_cast<size_t>(i)].LeafCount());
  const int64_t count = static_cast<int64_t>(module.shape(user).LeafCount());
  return std::ranges::any_of(leaves,
                             [&](int64_t leaf) { return first <= leaf && leaf < first + count; });
}

// The instruction and those that call its computation, and theirs.
std::vector<bool> WithCallers(const Module& module, InstructionId from) {
  std::vector<std::vector<InstructionId>> callers(module.computations().size());
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    for (const hlo::ComputationId callee : module.CalledComputations(module[id]))
      callers[callee.index].push_back(id);
  }
  std::vector<bool> found(module.instructions().size());
  std::vector<InstructionId> left = {from};
  found[from.index] = true;
  while (!left.empty()) {
    const InstructionId next = left.back();
    left.pop_back();
    for (const InstructionId caller : callers[module[next].computation.index]) {
      if (found[caller.index]) continue;
      found[caller.index] = true;
      left.push_back(caller);
    }
  }
  return found;
}

}  // namespace

DifferencePaths::DifferencePaths(const Module& module, const std::vector<bool>& differs,
                                 std::span<const int64_t> results)
    : leads_(module.instructions().size()), entered_(module.computations().size()) {
  const InstructionId root = module.entry().root;
  leads_[root.index] = true;
  const std::vector<bool> agrees = AgreeingValues(module, differs);
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

std::vector<int64_t> ResultsFrom(const Module& module, InstructionId from,
                                 const std::vector<bool>& differs, std::span<const int64_t> results,
                                 std::span<const int64_t> leaves) {
  const std::vector<bool> agrees = AgreeingValues(module, differs);
  std::vector<bool> on_path = WithCallers(module, from);
  const InstructionId root = module.entry().root;
  const hlo::Computation& entry = module.entry();
  for (uint32_t k = 0; k < entry.instruction_count; ++k) {
    const InstructionId id(entry.first_instruction + k);
    if (on_path[id.index] || (agrees[id.index] && id != root)) continue;
    on_path[id.index] = std::ranges::any_of(module.operands(id), [&](InstructionId operand) {
      return on_path[operand.index] && (operand != from || TakesOneOf(module, id, leaves));
    });
  }
  std::vector<bool> is_reached;  // by result
  if (module[root].opcode == hlo::Opcode::kTuple) {
    for (const InstructionId operand : module.operands(root))
      is_reached.insert(is_reached.end(), module.shape(operand).LeafCount(),
                        on_path[operand.index]);
  } else {
    is_reached.assign(module.shape(root).LeafCount(), on_path[root.index]);
  }
  if (from == root && !leaves.empty()) {
    is_reached.assign(is_reached.size(), false);
    for (const int64_t leaf : leaves) {
      if (std::cmp_less(leaf, is_reached.size())) is_reached[static_cast<size_t>(leaf)] = true;
    }
  }
  std::vector<int64_t> reached;
  std::ranges::copy_if(results, std::back_inserter(reached), [&](int64_t result) {
    return std::cmp_less(result, is_reached.size()) && is_reached[static_cast<size_t>(result)];
  });
  return reached;
}

std::vector<int64_t> TakeResultsFrom(const Module& module, InstructionId from,
                                     const std::vector<bool>& differs,
                                     std::vector<int64_t>& results,
                                     std::span<const int64_t> leaves) {
  std::vector<int64_t> reached = ResultsFrom(module, from, differs, results, leaves);
  std::erase_if(
      results, [&](int64_t result) { return std::ranges::find(reached, result) != reached.end(); });
  return reached;
}

}  // namespace hloscope::debug
