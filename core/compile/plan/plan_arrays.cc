// Leaves of parameters and of the root, with names.
#include "core/compile/plan/plan_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hloscope::compile {

using hlo::InstructionId;

namespace {

// The arrays of an instruction's value behind those that are there; buffers from `next` on are its
// leaves.
void AppendArrays(const Plan& plan, InstructionId id, const std::vector<BufferNumber>& buffers,
                  size_t& next, std::vector<PlanArray>& out) {
  const std::string name(plan.module->name(id));
  for (const auto& [index, shape] : plan.module->shape(id).Leaves()) {
    const BufferNumber buffer = buffers[next++];
    if (shape->IsToken()) continue;
    out.push_back({buffer, *shape,
                   index.empty() ? name : fmt::format("{}{{{}}}", name, fmt::join(index, ","))});
  }
}

}  // namespace

std::vector<PlanArray> ParameterArrays(const Plan& plan) {
  std::vector<PlanArray> out;
  size_t next = 0;
  for (const InstructionId parameter : plan.module->Parameters(plan.computation)) {
    AppendArrays(plan, parameter, plan.parameters, next, out);
  }
  return out;
}

std::vector<PlanArray> ResultArrays(const Plan& plan) {
  std::vector<PlanArray> out;
  size_t next = 0;
  AppendArrays(plan, (*plan.module)[plan.computation].root, plan.results, next, out);
  return out;
}

}  // namespace hloscope::compile
