#include "app/reports/launch_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>

#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

using profiler::LaunchFigures;
using profiler::LaunchSums;

std::string MicrosecondsText(double us) { return DurationText(static_cast<int64_t>(us * 1e6)); }

// "12,345,678" is too wide: "12.3 M".
std::string ShortText(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  return FormatText("{:.{}f}{}", value, unit == 0 || value >= 99.95 ? 0 : 1, kUnits[unit]);
}

}  // namespace

std::string LaunchesText(const ProfileReport& report) {
  std::vector<size_t> order(report.sums.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return report.sums[i].launches == 0; });
  if (order.empty()) return {};
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return report.sums[i].model_us; });
  int64_t launches = 0;
  double model_us = 0;
  std::string device;
  for (const size_t i : order) {
    launches += report.sums[i].launches;
    model_us += report.sums[i].model_us;
    if (device.empty()) device = report.sums[i].model_device;
  }
  std::string out = FormatText("{} on a simulated device; means per kernel:\n",
                               Counted(launches, "launch", "launches"));
  if (model_us > 0) {
    out = FormatText("{} on a simulated device; by the model {} on {}; means per kernel:\n",
                     Counted(launches, "launch", "launches"), MicrosecondsText(model_us), device);
  }
  out += FormatText("{:>10} {:<20} {:>8} {:>9} {:>7} {:>9} {:>7} {:>9} {:>9}  instruction\n",
                    "model", "bound by", "launches", "instr.", "lanes", "sectors", "used",
                    "conflicts", "products");
  const auto attribution = report.attribution->times();
  const std::vector<std::string> labels = ModuleLabels(*report.attribution);
  for (const size_t i : order | std::views::take(report.top)) {
    const LaunchSums& sums = report.sums[i];
    const LaunchFigures& figures = sums.figures;
    const auto mean = [&](uint64_t sum) {
      return ShortText(static_cast<double>(sum) / static_cast<double>(sums.launches));
    };
    const profiler::Target& target = attribution[i].target;
    const profiler::AttributedModule& module = report.attribution->modules()[target.module];
    out += FormatText(
        "{:>10} {:<20} {:>8} {:>9} {:>5.1f} % {:>9} {:>5.1f} % {:>9} {:>9}  {}:{}\n",
        sums.model_us > 0 ? MicrosecondsText(sums.model_us / static_cast<double>(sums.launches))
                          : "",
        sums.bound, sums.launches, mean(figures.warp_instructions), 100 * figures.active_lanes(),
        mean(figures.sectors()), 100 * figures.coalesced(), mean(figures.conflicts()),
        mean(figures.products()), labels[target.module], module.module->name(target.instruction));
  }
  return out;
}

std::string MetricsText(const ProfileReport& report) {
  std::string rows;
  int64_t launches = 0;
  size_t told = 0;
  const auto times = report.attribution->times();
  const std::vector<std::string> labels = ModuleLabels(*report.attribution);
  for (size_t i = 0; i < report.sums.size(); ++i) {
    const profiler::MetricSums& sums = report.sums[i].metrics;
    launches += sums.launches();
    if (sums.launches() == 0 || told++ >= report.top) continue;
    const profiler::KernelMetrics all = sums.all();
    for (const profiler::MetricRow& row : profiler::kMetricRows) {
      const auto& value = all.*row.field;
      std::string text;
      if (value) {
        text = row.kind == profiler::MetricKind::kShare
                   ? FormatText("{:.1f} %", 100 * *value)
                   : ShortText(*value / static_cast<double>(sums.launches()));
        if (row.kind == profiler::MetricKind::kSum) text += text.contains(' ') ? "B" : " B";
      }
      rows += FormatText("{:>9} ", text);
    }
    const profiler::Target& target = times[i].target;
    const profiler::AttributedModule& module = report.attribution->modules()[target.module];
    rows += FormatText("{:>8}  {}:{}\n", sums.launches(), labels[target.module],
                       module.module->name(target.instruction));
  }
  if (launches == 0) return {};
  std::string out =
      FormatText("{} measured by GPU performance counters in separate runs; means per kernel:\n",
                 Counted(launches, "kernel"));
  for (const profiler::MetricRow& row : profiler::kMetricRows) {
    out += FormatText("{:>9} ", row.title);
  }
  return out + FormatText("{:>8}  instruction\n", "kernels") + rows;
}

void AppendMetrics(const profiler::MetricSums& sums, JsonWriter& json) {
  if (sums.launches() == 0) return;
  const profiler::KernelMetrics all = sums.all();
  json.Key("metrics").BeginObject().Field("launches", sums.launches());
  for (const profiler::MetricRow& row : profiler::kMetricRows) {
    json.Key(row.name);
    const auto& value = all.*row.field;
    value ? json.Value(*value) : json.Null();
  }
  json.EndObject();
}

void AppendLaunches(const LaunchSums& sums, JsonWriter& json) {
  if (sums.launches == 0) return;
  json.Field("launches", sums.launches);
  json.Key("figures").BeginObject();
  json.Field("thread_instructions_executed", sums.figures.threads());
#define LAUNCH_FIGURE(field, name, metric) json.Field(name, sums.figures.field);
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
  json.EndObject();
  json.Field("active_lanes", sums.figures.active_lanes())
      .Field("coalesced", sums.figures.coalesced());
  json.Key("model_us");
  sums.model_us > 0 ? json.Value(sums.model_us) : json.Null();
  json.Key("model_peak_us");
  sums.model_us > 0 ? json.Value(sums.model_peak_us) : json.Null();
  json.Field("model_bound", sums.bound).Field("model_device", sums.model_device);
}

}  // namespace hloscope::app
