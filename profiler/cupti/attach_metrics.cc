// Launches and kernels, side by side.
#include "profiler/cupti/attach_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"

namespace hloscope::profiler::cupti {

void AttachMetrics(ActivityLog& log, std::span<const MeasuredLaunch> launches) {
  struct Side {
    std::vector<Activity*> kernels;
    std::vector<const KernelMetrics*> metrics;
  };
  std::map<uint64_t, Side> sides;
  for (Activity& activity : log.activities) {
    if (activity.work != Work::kKernel) continue;
    if (const auto external = log.ExternalOf(activity))
      sides[*external].kernels.push_back(&activity);
  }
  for (const MeasuredLaunch& launch : launches) {
    sides[launch.external].metrics.push_back(&launch.metrics);
  }
  size_t unknown = 0;
  for (auto& [external, side] : sides) {
    if (side.kernels.size() != side.metrics.size()) {
      ++unknown;
      continue;
    }
    std::ranges::stable_sort(side.kernels, {},
                             [](const Activity* kernel) { return kernel->start; });
    for (size_t i = 0; i < side.kernels.size(); ++i) {
      if (!side.metrics[i]->any()) continue;
      side.kernels[i]->metrics = static_cast<int32_t>(log.metrics.size());
      log.metrics.push_back(*side.metrics[i]);
    }
  }
  if (unknown == 0) return;
  log.warnings.push_back(fmt::format(
      "{} without metrics: with counters kernels were launched more or less often than recorded",
      Counted(unknown, "instruction")));
}

void AttachLines(ActivityLog& log, std::map<uint64_t, PtxLines> lines) {
  std::map<uint64_t, Activity*> longest;
  for (Activity& activity : log.activities) {
    if (activity.work != Work::kKernel) continue;
    const auto external = log.ExternalOf(activity);
    if (!external) continue;
    Activity*& known = longest[*external];
    // Of equal ones the first, as an attribution has it.
    const auto rank = [](const Activity& each) {
      return std::pair(each.end - each.start, UINT64_MAX - each.start);
    };
    if (known == nullptr || rank(activity) > rank(*known)) known = &activity;
  }
  size_t unknown = 0;
  for (auto& [external, counted] : lines) {
    const auto found = longest.find(external);
    if (found == longest.end()) {
      ++unknown;
      continue;
    }
    found->second->lines = static_cast<int32_t>(log.lines.size());
    log.lines.push_back(std::move(counted));
  }
  if (unknown == 0) return;
  log.warnings.push_back(
      fmt::format("{} with samples but without a recorded kernel: their lines are not reported",
                  Counted(unknown, "instruction")));
}

}  // namespace hloscope::profiler::cupti
