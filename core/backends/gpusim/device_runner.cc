// DeviceRunner: counts of runs and what they hand over.
#include "core/backends/gpusim/device_runner.h"

#include <optional>
#include <utility>

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

Result<runtime::Value> DeviceRunner::Run(eval::Machine& machine,
                                         std::vector<runtime::Value> arguments) const {
  if (!machine.WantsEntryAlone()) return machine.CallEntry(std::move(arguments));
  std::optional<LaunchRecorder> recorder;
  if (record_steps_ > 0)
    recorder.emplace(loaded_, record_steps_, options_.record.pc_sampling, machine.run());
  DeviceRun run(loaded_, machine, options_, observer_, recorder ? &*recorder : nullptr);
  auto value = run.Run(arguments);
  const std::lock_guard lock(mutex_);
  if (recorder) steps_.insert_or_assign(machine.device(), recorder->Take(machine.device()));
  counts_.kernels += run.counts().kernels;
  counts_.copies += run.counts().copies;
  counts_.evaluated.Add(run.counts().evaluated);
  checks_.Add(run.checks());
  return value;
}

void DeviceRunner::Tell(RunStream& stream) const {
  TellChecks(stream);
  counts_.evaluated.Tell(
      module(),
      [&](hlo::InstructionId id) -> HostFallbackCounts::Why {
        return {WhyEvaluated(module(), id), "the evaluator computed it on the same bytes"};
      },
      {.kernels = counts_.kernels, .copies = counts_.copies}, stream);
}

std::pair<std::vector<TraceSteps>, std::vector<runtime::DeviceSpan>> DeviceRunner::TakeSteps()
    const {
  const std::lock_guard lock(mutex_);
  std::pair<std::vector<TraceSteps>, std::vector<runtime::DeviceSpan>> all;
  for (auto& [device, told] : std::exchange(steps_, {})) {
    all.second.resize(static_cast<size_t>(device));  // those that never ran
    all.first.push_back(std::move(told.first));
    all.second.push_back(told.second);
  }
  return all;
}

}  // namespace hloscope::replay
