// DeviceRunner: counts of runs and what they hand over.
#include "core/replay/simulated/device_runner.h"

namespace hloscope::replay {
namespace {

// Why XLA:GPU has no kernel for an instruction.
std::string_view WhyEvaluated(const hlo::Module& module, hlo::InstructionId id) {
  if (module[id].opcode == hlo::Opcode::kCustomCall)
    return "a library's own code, which no dump has";
  if (module[id].opcode == hlo::Opcode::kFusion) {
    return "its kernel is not in the dump, or works on the memory of other devices";
  }
  if (module[id].opcode == hlo::Opcode::kFft) return "cuFFT's own code, which no dump has";
  return "XLA's runtime does it without a kernel of the dump";
}

}  // namespace

Result<eval::Value> DeviceRunner::Run(eval::KernelCall&) const {
  return InternalError("instructions of a device program run as a whole");
}

Result<std::optional<eval::Value>> DeviceRunner::RunWhole(
    eval::Machine& machine, hlo::ComputationId computation,
    std::span<const eval::Value> arguments) const {
  if (computation != module().entry_id()) return std::nullopt;
  DeviceRun run(loaded_, machine, observer_);
  auto value = run.Run(arguments);
  const std::lock_guard lock(mutex_);
  counts_.kernels += run.counts().kernels;
  counts_.library_calls += run.counts().library_calls;
  counts_.evaluated.Add(run.counts().evaluated);
  if (!value.has_value()) return std::unexpected(std::move(value).error());
  return *std::move(value);
}

void DeviceRunner::Tell(RunStream& stream) const {
  counts_.evaluated.Tell(
      module(), [&](hlo::InstructionId id) { return WhyEvaluated(module(), id); },
      "the evaluator computed it on the same bytes",
      {.kernels = counts_.kernels, .library_calls = counts_.library_calls}, stream);
}

}  // namespace hloscope::replay
