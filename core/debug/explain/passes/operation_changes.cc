#include "core/debug/explain/passes/operation_changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "core/analysis/align/compare_modules.h"
#include "core/base/counted.h"

namespace hloscope::debug {

OperationChanges OperationsThatDiffer(const hlo::Module& a, const hlo::Module& b) {
  const analysis::ModuleComparison compared = analysis::CompareModules(a, b);
  OperationChanges changes;
  std::set<hlo::InstructionId> changed;
  const auto in = [](const std::string& instruction, const std::string& computation) {
    return instruction.empty() ? "module" : fmt::format("{} in {}", instruction, computation);
  };
  for (const analysis::InstructionChange& change : compared.changed) {
    if (change.is_cause()) changed.insert(change.a);
    changes.texts.push_back(
        fmt::format("{}: {}", in(change.instruction, change.computation), change.what));
  }
  for (const analysis::InstructionName& name : compared.removed)
    changes.texts.push_back(in(name.instruction, name.computation) + ": removed");
  for (const analysis::InstructionName& name : compared.added)
    changes.texts.push_back(in(name.instruction, name.computation) + ": added");
  changes.changed = std::ssize(changed);
  changes.removed = std::ssize(compared.removed);
  changes.added = std::ssize(compared.added);
  return changes;
}

std::string BoundsPhrase(const Leaves& results, const BoundsRequest& request) {
  std::set<hlo::ElementType> seen;
  std::vector<std::string> phrases;
  for (const auto& leaf : results) {
    if (!leaf.has_value() || !leaf->shape().IsArray()) continue;
    const hlo::ElementType type = leaf->shape().element_type();
    if (!seen.insert(type).second) continue;
    const ErrorBounds bounds = BoundsFor(type, request);
    std::string held = "exactly";
    if (bounds.absolute > 0 || bounds.relative > 0) {
      held = bounds.absolute == bounds.relative
                 ? fmt::format("{:g} absolute or relative", bounds.absolute)
                 : fmt::format("{:g} absolute or {:g} relative", bounds.absolute, bounds.relative);
    } else if (bounds.ulp > 0) {
      held = Counted(bounds.ulp, "step");
    }
    phrases.push_back(fmt::format("{}: {}", hlo::ToString(type), held));
  }
  return fmt::format("{}", fmt::join(phrases, ", "));
}

}  // namespace hloscope::debug
