// What a plan consists of, asked by those that write code for it.
#include <algorithm>

#include "core/compile/plan/plan.h"

namespace hloscope::compile {

namespace {

// Calls fn(step) for all steps but those inside loops that are one function.
template <typename Function>
void ForEachCalled(const Plan& plan, const Function& fn) {
  std::vector<SequenceNumber> open = {0};
  while (!open.empty()) {
    const SequenceNumber s = open.back();
    open.pop_back();
    for (const PlannedStep& step : plan.sequences[s]) {
      fn(step);
      if (!step.is_one_function) {
        open.insert(open.end(), step.sequences.begin(), step.sequences.end());
      }
    }
  }
}

}  // namespace

std::vector<hlo::InstructionId> KernelsOf(const Plan& plan) {
  std::vector<hlo::InstructionId> out;
  ForEachCalled(plan, [&](const PlannedStep& step) {
    if (step.kind == StepKind::kKernel) out.push_back(step.id);
  });
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

std::vector<const PlannedStep*> OneFunctionLoopsOf(const Plan& plan) {
  std::vector<const PlannedStep*> out;
  ForEachCalled(plan, [&](const PlannedStep& step) {
    if (step.is_one_function) out.push_back(&step);
  });
  return out;
}

}  // namespace hloscope::compile
