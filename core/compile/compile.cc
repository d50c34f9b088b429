// Compile: runs the passes and fusion over a module.
#include "core/compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/closest_text.h"
#include "core/compile/factor_calls.h"
#include "core/compile/kernel_rules.h"
#include "core/compile/library_rules.h"
#include "core/compile/passes/pass.h"
#include "core/compile/run_computations.h"
#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::compile {

using hlo::InstructionId;
using hlo::Module;

namespace {

Status CheckPassNames(const CompileOptions& options) {
  for (const std::string& name : options.disabled_passes) {
    if (std::ranges::find(kPasses, name, &PassRow::name) != std::end(kPasses)) continue;
    std::string names;
    for (const PassRow& row : kPasses)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    return InputError(fmt::format("there is no pass `{}`", name),
                      fmt::format("the passes are {}", names));
  }
  return {};
}

Status CheckModule(const Module& module, std::string_view pass) {
  for (const hlo::Diagnostic& d : hlo::Verify(module)) {
    if (d.severity != hlo::Severity::kError) continue;
    return InternalError(fmt::format("{}: {} does not verify: {}", pass, module.name(), d.message));
  }
  return {};
}

// Has code of GPUs alone.
bool IsGpuKernel(const Module& module, InstructionId id) {
  return (module[id].opcode == hlo::Opcode::kFft && IsLibraryCall(module, id)) ||
         FactorCallOf(module, id).has_value() || IsDotFusion(module, id) ||
         IsHorizontalLoopFusion(module, id);
}

std::vector<InstructionId> FindKernels(const Module& module, const CompileOptions& options,
                                       bool keeps_values) {
  std::vector<InstructionId> kernels;
  const std::vector<bool> runs = RunComputations(module, keeps_values);
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (keeps_values && module[id].opcode == hlo::Opcode::kFusion) continue;
    if (options.library_calls && IsLibraryCall(module, id)) continue;
    if (!runs[module[id].computation.index] || IsBitcastLike(module, id)) continue;
    if (IsKernel(module, id) || (options.gpu_kernels && IsGpuKernel(module, id))) {
      kernels.push_back(id);
    }
  }
  return kernels;
}

// `then` behind `first`, which an empty `first` leaves as it is.
void Compose(std::vector<InstructionId>& first, const std::vector<InstructionId>& then) {
  for (InstructionId& id : first) {
    if (id.valid()) id = then[id.index];
  }
}

void AddPlan(Compilation& compilation, const CompileOptions& options, bool keeps_values) {
  const auto& module = compilation.module;
  if (keeps_values) {
    compilation.why_no_plan = options.keep_values
                                  ? "every value is kept"
                                  : "it is not SPMD-partitioned yet: values are global outside of "
                                    "manual regions and per device inside";
  } else if (Result<Plan> plan = MakePlan(
                 module, module->entry_id(), compilation.kernels,
                 {.collectives = options.plan_collectives, .overwrites = !options.gpu_kernels});
             plan.has_value()) {
    compilation.plan = std::make_shared<const Plan>(*std::move(plan));
  } else {
    compilation.why_no_plan = plan.error().message;
  }
}

}  // namespace

Result<Compilation> Compile(std::shared_ptr<const Module> module, const CompileOptions& options) {
  HLOSCOPE_TRY(CheckPassNames(options));
  Compilation out;
  out.library_calls = options.library_calls;
  out.plan_collectives = options.plan_collectives;
  out.is_unpartitioned = options.is_unpartitioned;
  out.gpu_kernels = options.gpu_kernels;
  out.byte_kernels = options.byte_kernels;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) out.new_id.emplace_back(i);
  out.before_fusion = module;
  const auto has_global_values = [&] {
    return options.is_unpartitioned && !hlo::AreValuesOwn(*module);
  };
  for (const PassRow& row : kPasses) {
    if (options.keep_values || (row.scope == PassScope::kOwnValues && has_global_values()) ||
        std::ranges::find(options.disabled_passes, row.name) != options.disabled_passes.end()) {
      continue;
    }
    const auto begin = std::chrono::steady_clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(PassResult result, row.run(module, out));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    out.times.push_back({row.name, time.count()});
    if (row.run == &Fuse) out.before_fusion = module;
    if (result.module == nullptr) continue;
    module = result.module;
    if (options.verify) HLOSCOPE_TRY(CheckModule(*module, row.name));
    Compose(out.new_id, result.new_id);
    if (options.keep_stages) {
      out.stages.push_back(
          {std::string(row.name), module, std::move(result.new_id), std::move(result.origins)});
    }
  }
  const bool keeps_values = options.keep_values || has_global_values();
  out.kernels = FindKernels(*module, options, keeps_values);
  out.module = module;
  AddPlan(out, options, keeps_values);
  return out;
}

}  // namespace hloscope::compile
