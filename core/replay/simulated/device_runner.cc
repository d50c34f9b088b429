// DeviceRunner: counts of runs and what they hand over.
#include "core/replay/simulated/device_runner.h"

#include <algorithm>

namespace hloscope::replay {
namespace {

// Why XLA:GPU has no kernel for an instruction.
std::string_view WhyEvaluated(const hlo::Module& module, hlo::InstructionId id) {
  if (module[id].opcode == hlo::Opcode::kCustomCall)
    return "a library's own code, which no dump has";
  if (module[id].opcode == hlo::Opcode::kFusion) return "its kernel is not in the dump";
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
  DeviceRun run(loaded_, machine);
  auto value = run.Run(arguments);
  const std::lock_guard lock(mutex_);
  counts_.kernels += run.counts().kernels;
  counts_.library_calls += run.counts().library_calls;
  for (const auto& [id, it] : run.counts().evaluated) {
    counts_.evaluated[id].count += it.count;
    counts_.evaluated[id].nanoseconds += it.nanoseconds;
  }
  if (!value.has_value()) return std::unexpected(std::move(value).error());
  return *std::move(value);
}

void DeviceRunner::Tell(RunStream& stream) const {
  RunExecuted executed{.kernels = counts_.kernels,
                       .library_calls = counts_.library_calls,
                       .evaluated = 0,
                       .evaluated_ops = {}};
  for (const auto& [id, it] : counts_.evaluated) {
    const std::string opcode(hlo::ToString(module()[id].opcode));
    const std::string reason(WhyEvaluated(module(), id));
    executed.evaluated += it.count;
    const auto same = std::ranges::find_if(executed.evaluated_ops, [&](const auto& op) {
      return op.opcode == opcode && op.reason == reason;
    });
    if (same == executed.evaluated_ops.end()) {
      executed.evaluated_ops.push_back({opcode, it.count, reason});
    } else {
      same->count += it.count;
    }
    stream.Take(RunFallback{.instruction = std::string(module().name(id)),
                            .opcode = opcode,
                            .reason = reason,
                            .detail = "the evaluator computed it on the same bytes",
                            .bytes_moved = 0,
                            .time_us = static_cast<double>(it.nanoseconds) / 1e3});
  }
  stream.Take(std::move(executed));
}

}  // namespace hloscope::replay
