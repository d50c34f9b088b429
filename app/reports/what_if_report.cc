#include "app/reports/what_if_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

using profiler::DeviceEstimate;
using profiler::WhatIf;

std::string TimeText(double us) { return DurationText(static_cast<int64_t>(us * 1e6)); }

std::string DeviceText(const profiler::DeviceFacts& device) {
  return FormatText("{} ({:.0f} multiprocessors, {:.0f} GB/s, {:.1f} Tflop/s of f32)", device.name,
                    device.cores, device.bytes_per_second / 1e9, device.flops_per_second / 1e12);
}

// "62 %", "at most 62 %" where registers are not known.
std::string OccupancyText(const DeviceEstimate& estimate) {
  if (estimate.occupancy < 0) return "?";
  return FormatText("{}{:.0f} %", estimate.counts_registers ? "" : "<= ", 100 * estimate.occupancy);
}

double ShareOf(const DeviceEstimate& estimate, const WhatIf& what_if) {
  return what_if.us > 0 ? estimate.us / what_if.us : 0;
}

std::string NameOf(const ProfileReport& report, const DeviceEstimate& estimate) {
  const profiler::Target& target = report.attribution->times()[estimate.time].target;
  const profiler::AttributedModule& module = report.attribution->modules()[target.module];
  return FormatText("{}:{}", ModuleLabels(*report.attribution)[target.module],
                    module.module->name(target.instruction));
}

}  // namespace

std::string WhatIfText(const ProfileReport& report) {
  std::string out;
  for (const WhatIf& what_if : report.what_if) {
    if (what_if.estimates.empty()) {
      out += FormatText("what if: no launch was counted for {}; record on a simulated GPU\n\n",
                        what_if.device.name);
      continue;
    }
    out += FormatText("what if: by the model {} {} {} on {}\n",
                      Counted(what_if.estimates.size(), "instruction"),
                      VerbFor(what_if.estimates.size(), "takes", "take"), TimeText(what_if.us),
                      DeviceText(what_if.device));
    out += FormatText("{:>6} {:>10} {:<20} {:>9} {:>6} {:>9}  instruction\n", "share", "model",
                      "bound by", "occupancy", "SMs", "launches");
    for (const DeviceEstimate& estimate : what_if.estimates | std::views::take(report.top)) {
      out += FormatText("{:>4.1f} % {:>10} {:<20} {:>9} {:>6.0f} {:>9}  {}\n",
                        100 * ShareOf(estimate, what_if), TimeText(estimate.us),
                        ToString(estimate.bound), OccupancyText(estimate), estimate.multiprocessors,
                        estimate.launches, NameOf(report, estimate));
    }
    out += '\n';
  }
  return out;
}

void AppendWhatIf(const ProfileReport& report, JsonWriter& json) {
  if (report.what_if.empty()) return;
  json.Key("what_if").BeginArray();
  for (const WhatIf& what_if : report.what_if) {
    json.BeginObject()
        .Field("device", what_if.device.name)
        .Field("multiprocessors", what_if.device.cores)
        .Field("bytes_per_second", what_if.device.bytes_per_second)
        .Field("flops_per_second", what_if.device.flops_per_second)
        .Field("model_us", what_if.us);
    json.Key("instructions").BeginArray();
    for (const DeviceEstimate& estimate : what_if.estimates) {
      const profiler::Target& target = report.attribution->times()[estimate.time].target;
      const profiler::AttributedModule& module = report.attribution->modules()[target.module];
      json.BeginObject()
          .Field("module", module.name)
          .Field("instruction", module.module->name(target.instruction))
          .Field("launches", estimate.launches)
          .Field("model_us", estimate.us)
          .Field("share", ShareOf(estimate, what_if))
          .Field("model_bound", ToString(estimate.bound));
      json.Key("occupancy");
      estimate.occupancy >= 0 ? json.Value(estimate.occupancy) : json.Null();
      json.Field("occupancy_counts_registers", estimate.counts_registers)
          .Field("multiprocessors", estimate.multiprocessors)
          .EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace hloscope::app
