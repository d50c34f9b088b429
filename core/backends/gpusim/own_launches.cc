// OwnLaunches: launches and steps are of one clock.
#include "core/backends/gpusim/own_launches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/runtime/recording.h"

namespace hloscope::replay {

using hlo::InstructionId;

void OwnLaunches::Add(hlo::InstructionId id, const ptx::Module& code,
                      const ptx::LaunchRequest& request, const ptx::LaunchResult& result) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] =
      by_name_.try_emplace(request.entry, static_cast<uint32_t>(kernels_.size()));
  if (is_new) {
    TracedKernel kernel{.name = request.entry, .file = code.file()};
    std::ranges::copy(request.grid, kernel.blocks.begin());
    std::ranges::copy(request.block, kernel.threads.begin());
    const auto& entries = code.entries();
    const auto info = std::ranges::find(entries, request.entry, &ptx::EntryInfo::name);
    if (info != entries.end()) {
      kernel.line = info->line;
      kernel.static_shared_bytes = static_cast<int64_t>(info->static_shared_bytes);
    }
    kernels_.push_back(std::move(kernel));
  }
  const profiler::KernelDetails details = {
      .shared_bytes = static_cast<double>(kernels_[entry->second].static_shared_bytes),
      .blocks = uint64_t{request.grid[0]} * request.grid[1] * request.grid[2],
      .threads = uint64_t{request.block[0]} * request.block[1] * request.block[2]};
  launches_[id].push_back(
      {runtime::SteadyNanoseconds(), entry->second, details, LaunchFiguresOf(result.counters)});
  lines_.Add(id, code, request.entry, result.lines);
}

void OwnLaunches::GiveTo(TraceSteps& steps) const {
  const std::lock_guard lock(mutex_);
  const std::vector<runtime::RecordedStep>& all = steps.steps.steps;
  auto sum = steps.steps.sums.begin();
  std::set<InstructionId> told_lines;
  for (uint64_t i = 0; i < all.size(); ++i) {
    if (sum != steps.steps.sums.end() && sum->step == i) {
      ++sum;
      continue;
    }
    const auto found = launches_.find(all[i].instruction);
    if (found == launches_.end()) continue;
    const std::vector<Launch>& launches = found->second;
    auto launch = std::ranges::lower_bound(launches, all[i].start_ns, {}, &Launch::ended_ns);
    const int64_t end = all[i].start_ns + all[i].duration_ns;
    if (launch == launches.end() || launch->ended_ns > end) continue;
    TracedLaunch told{.step = i, .kernel = launch->kernel, .figures = {}};
    double most_seconds = 0;
    for (; launch != launches.end() && launch->ended_ns <= end; ++launch) {
      const auto model = profiler::ModelOf(launch->figures, launch->details, device_);
      told.model_us += 1e6 * model.seconds;
      told.model_peak_us += 1e6 * model.peak_seconds;
      if (model.seconds > most_seconds) told.bound = model.bound;
      most_seconds = std::max(most_seconds, model.seconds);
      told.figures.Add(launch->figures);
    }
    const InstructionId id = all[i].instruction;
    if (told_lines.insert(id).second) told.lines = lines_.TextOf(id);
    steps.launches.push_back(std::move(told));
  }
  if (steps.launches.empty()) return;
  steps.kernels = kernels_;
  steps.model_device = device_.name;
}

void OwnLaunches::Tell(RunStream& stream) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Launch*> all;
  for (const auto& [id, launches] : launches_) {
    for (const Launch& launch : launches) all.push_back(&launch);
  }
  std::ranges::stable_sort(all, {}, &Launch::ended_ns);
  const auto tell = [&](const char* name, uint64_t profiler::LaunchFigures::* field) {
    TraceSamples series{name, "", {}};
    bool is_any = false;
    for (const Launch* launch : all) {
      const uint64_t value = launch->figures.*field;
      is_any |= value != 0;
      series.samples.emplace_back(launch->ended_ns, static_cast<double>(value));
    }
    if (is_any) stream.Take(std::move(series));
  };
#define LAUNCH_FIGURE(field, name, metric) tell(name, &profiler::LaunchFigures::field);
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
}

}  // namespace hloscope::replay
