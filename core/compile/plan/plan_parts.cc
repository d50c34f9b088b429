// What a plan consists of, asked by those that write code for it.
#include <algorithm>
#include <iterator>

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

std::vector<const PlannedStep*> OneFunctionLoopsOf(const Plan& plan) {
  std::vector<const PlannedStep*> out;
  ForEachCalled(plan, [&](const PlannedStep& step) {
    if (step.is_one_function) out.push_back(&step);
  });
  return out;
}

std::vector<hlo::InstructionId> KernelsBesideLoops(const Plan& plan,
                                                   const std::vector<hlo::InstructionId>& kernels) {
  std::vector<bool> is_inside(plan.module->instructions().size(), false), is_called = is_inside;
  ForEachCalled(plan, [&](const PlannedStep& step) { is_called[step.id.index] = true; });
  for (const PlannedStep* const loop : OneFunctionLoopsOf(plan)) {
    for (const SequenceNumber s : loop->sequences) {
      ForEachStep(plan, s, [&](const PlannedStep& step) { is_inside[step.id.index] = true; });
    }
  }
  std::vector<hlo::InstructionId> out;
  std::ranges::copy_if(kernels, std::back_inserter(out), [&](hlo::InstructionId id) {
    return !is_inside[id.index] || is_called[id.index];
  });
  return out;
}

}  // namespace hloscope::compile
