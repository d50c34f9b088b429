// LaunchRecorder: steps by the evaluator's recorder, launches beside them.
#include "core/backends/gpusim/launch_recorder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace hloscope::replay {
namespace {

std::array<uint32_t, 3> ExtentOf(const dump::Extent3& extent) {
  return {static_cast<uint32_t>(extent[0]), static_cast<uint32_t>(extent[1]),
          static_cast<uint32_t>(extent[2])};
}

}  // namespace

profiler::LaunchFigures LaunchFiguresOf(const ptx::Counters& counters) {
  return {
#define LAUNCH_FIGURE(field, name, metric) .field = counters.field,
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
  };
}

void CountedLines::Add(hlo::InstructionId id, const ptx::Module& code, const std::string& entry,
                       std::span<const ptx::LineCount> lines) {
  if (lines.empty()) return;
  const profiler::KernelText& text = texts_.try_emplace(&code, code.text()).first->second;
  const uint32_t first = text.FirstOf(entry);
  for (const ptx::LineCount& counted : lines) {
    profiler::PtxLine line = text.LineOf(entry, first, counted.line);
    line.count = counted.warps;
    lines_[id].Add(profiler::LineCounting::kExecuted, std::move(line));
  }
}

std::string CountedLines::TextOf(hlo::InstructionId id) const {
  const auto found = lines_.find(id);
  if (found == lines_.end()) return {};
  return std::get<std::string>(ArgumentOf(found->second).value);
}

LaunchRecorder::LaunchRecorder(const LoadedProgram& loaded, int64_t most_steps, bool counts_lines,
                               const runtime::RunState& run)
    : loaded_(loaded),
      begun_ns_(runtime::SteadyNanoseconds()),
      counts_lines_(counts_lines),
      steps_(loaded.program.module->instructions().size(), most_steps, run, told_.steps) {
  told_.model_device = loaded.device.name;
}

void LaunchRecorder::Launched(hlo::InstructionId id, const KernelLaunch& launch,
                              const ptx::LaunchResult& result) {
  lines_.Add(id, loaded_.code[static_cast<size_t>(launch.code)], launch.kernel, result.lines);
  const size_t before = told_.steps.steps.size();
  steps_.Ended(id);
  // Nothing was told where it was summed.
  const std::vector<runtime::RecordedStep>& steps = told_.steps.steps;
  if (steps.size() == before) return;
  const profiler::LaunchFigures figures = LaunchFiguresOf(result.counters);
  const uint32_t kernel = KernelOf(launch);
  const TracedKernel& traced = told_.kernels[kernel];
  const auto count = [](const std::array<uint32_t, 3>& extent) {
    return uint64_t{extent[0]} * extent[1] * extent[2];
  };
  const profiler::KernelDetails details = {
      .shared_bytes = static_cast<double>(traced.static_shared_bytes + traced.dynamic_shared_bytes),
      .blocks = count(traced.blocks),
      .threads = count(traced.threads)};
  const profiler::LaunchModel model = profiler::ModelOf(figures, details, loaded_.device);
  first_launch_.emplace(id, told_.launches.size());
  told_.launches.push_back({steps.size() - 1, kernel, model.bound, 1e6 * model.seconds,
                            1e6 * model.peak_seconds, figures});
}

uint32_t LaunchRecorder::KernelOf(const KernelLaunch& launch) {
  const auto [entry, is_new] =
      kernels_.try_emplace(&launch, static_cast<uint32_t>(told_.kernels.size()));
  if (!is_new) return entry->second;
  const std::filesystem::path file = loaded_.program.code[static_cast<size_t>(launch.code)].file;
  TracedKernel kernel{.name = launch.kernel,
                      .file = file.filename().string(),
                      .blocks = ExtentOf(launch.blocks),
                      .threads = ExtentOf(launch.threads),
                      .dynamic_shared_bytes = launch.shared_bytes};
  const auto& entries = loaded_.code[static_cast<size_t>(launch.code)].entries();
  const auto info = std::ranges::find(entries, launch.kernel, &ptx::EntryInfo::name);
  if (info != entries.end()) {
    kernel.line = info->line;
    kernel.static_shared_bytes = static_cast<int64_t>(info->static_shared_bytes);
  }
  told_.kernels.push_back(std::move(kernel));
  return entry->second;
}

std::pair<TraceSteps, runtime::DeviceSpan> LaunchRecorder::Take(int64_t device) {
  told_.device = device;
  for (const auto& [id, launch] : first_launch_) told_.launches[launch].lines = lines_.TextOf(id);
  return {std::move(told_), {begun_ns_, runtime::SteadyNanoseconds()}};
}

}  // namespace hloscope::replay
