#include "app/reports/profile_sums_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "app/reports/profile_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "profiler/category_times.h"
#include "profiler/step_excess.h"
#include "profiler/step_times.h"

namespace hloscope::app {
namespace {

// The flag of XLA with whose empty value kernels are launched one by one, with their names.
constexpr std::string_view kNoCommandBuffers = "XLA_FLAGS=--xla_gpu_enable_command_buffer=";

double ShareOf(int64_t part, const profiler::Attribution& attribution) {
  return static_cast<double>(part) /
         static_cast<double>(std::max<int64_t>(attribution.totals().work, 1));
}

// Events that name an instruction which no module of the attribution has.
struct NamedElsewhere {
  int64_t events = 0;
  std::set<std::string> modules = {};  // as far as the events name them
};
NamedElsewhere FindNamedElsewhere(const profiler::Attribution& attribution) {
  NamedElsewhere out;
  const profiler::EventStore& store = attribution.store();
  if (attribution.unattributed().empty() || store.operations().empty()) return out;
  for (uint32_t k = 0; k < store.size(); ++k) {
    const profiler::EventId event(k);
    const profiler::OperationId id = store.operation(event);
    if (!id.valid() || attribution.TargetOf(event).valid()) continue;
    const profiler::Operation& operation = store.operations()[id.index];
    ++out.events;
    if (operation.module.valid()) out.modules.emplace(store.text(operation.module));
  }
  return out;
}

std::string NamedElsewhereText(const profiler::Attribution& attribution) {
  const NamedElsewhere found = FindNamedElsewhere(attribution);
  if (found.events == 0) return {};
  std::string modules;
  for (const std::string& module : found.modules)
    modules += fmt::format("{}{}", modules.empty() ? " of " : ", ", module);
  return FormatText(
      "note: {} {} instructions (hlo_op){} that no module in the trace or given has "
      "(--module FILE attributes them)\n",
      Counted(found.events, "event"), VerbFor(found.events, "names", "name"), modules);
}

}  // namespace

std::string CommandBuffersText(const profiler::Attribution& attribution) {
  const profiler::CommandBufferTime& buffers = attribution.command_buffers();
  std::string out;
  if (buffers.count != 0)
    out = fmt::format(
        "note: {}, {:.1f} % of the busy time, ran from command buffers (CUDA graphs), whose events "
        "name no instruction; they are matched by the names of the kernels ({} makes XLA launch "
        "them one by one, with names)\n",
        Counted(buffers.count, "kernel"), 100 * ShareOf(buffers.self, attribution),
        kNoCommandBuffers);
  return out + NamedElsewhereText(attribution);
}

std::string CategoriesText(const profiler::Attribution& attribution) {
  std::string out;
  std::string_view separator = "by category: ";
  for (const profiler::CategoryTime& category : profiler::CategoryTimes(attribution)) {
    out += FormatText("{}{} {:.1f} %", separator, category.name,
                      100 * ShareOf(category.self, attribution));
    separator = ", ";
  }
  if (!out.empty()) out += '\n';
  return out;
}

std::string StepsText(const profiler::EventStore& store) {
  const auto [source, steps] = profiler::StepTimesOf(store);
  if (steps.empty()) return {};
  std::vector<int64_t> durations;
  for (const profiler::StepTime& step : steps) durations.push_back(step.duration);
  const auto at = std::ranges::max_element(steps, {}, &profiler::StepTime::duration);
  const profiler::StepTime& longest = *at;
  std::string why;
  for (const profiler::StepExcess& excess :
       profiler::ExcessOf(store, steps, static_cast<size_t>(at - steps.begin())))
    why += fmt::format("{}{} more in {}", why.empty() ? ": " : ", ", DurationText(excess.more()),
                       store.text(excess.name));
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::ranges::nth_element(durations, middle);
  const std::string_view by = source == profiler::StepSource::kStepNumber ? ""
                              : source == profiler::StepSource::kStepsLine
                                  ? ", by the line Steps of the devices"
                                  : ", by group_id of the events of threads";
  const std::string& name = steps.front().name;
  return fmt::format("{}{}: median {}, longest {} (step {}{}){}\n", Counted(steps.size(), "step"),
                     name == "step" ? "" : " of " + name, DurationText(*middle),
                     DurationText(longest.duration), longest.number, why, by);
}

namespace {

void AppendLongest(const profiler::EventStore& store, const std::vector<profiler::StepTime>& steps,
                   JsonWriter& json) {
  json.Key("longest_step");
  if (steps.empty()) {
    json.Null();
    return;
  }
  const auto at = std::ranges::max_element(steps, {}, &profiler::StepTime::duration);
  json.BeginObject().Field("name", at->name).Field("step_num", at->number).Key("more").BeginArray();
  for (const profiler::StepExcess& excess :
       profiler::ExcessOf(store, steps, static_cast<size_t>(at - steps.begin()))) {
    json.BeginObject().Field("event", store.text(excess.name));
    json.Field("self_ns", Nanoseconds(excess.self));
    json.Field("median_self_ns", Nanoseconds(excess.median)).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

void AppendSums(const profiler::Attribution& attribution, JsonWriter& json) {
  const profiler::CommandBufferTime& buffers = attribution.command_buffers();
  json.Key("command_buffers");
  if (buffers.count == 0) {
    json.Null();
  } else {
    json.BeginObject().Field("kernels", buffers.count).Field("self_ns", Nanoseconds(buffers.self));
    json.Field("share", ShareOf(buffers.self, attribution)).Field("fix", kNoCommandBuffers);
    json.EndObject();
  }
  const NamedElsewhere elsewhere = FindNamedElsewhere(attribution);
  json.Key("named_elsewhere");
  if (elsewhere.events == 0) {
    json.Null();
  } else {
    json.BeginObject().Field("events", elsewhere.events).Key("modules").BeginArray();
    for (const std::string& module : elsewhere.modules) json.Value(module);
    json.EndArray().EndObject();
  }
  json.Key("categories").BeginArray();
  for (const profiler::CategoryTime& category : profiler::CategoryTimes(attribution)) {
    json.BeginObject().Field("category", category.name).Field("count", category.count);
    json.Field("self_ns", Nanoseconds(category.self))
        .Field("share", ShareOf(category.self, attribution))
        .EndObject();
  }
  json.EndArray().Key("steps").BeginArray();
  const auto [source, steps] = profiler::StepTimesOf(attribution.store());
  for (const profiler::StepTime& step : steps) {
    json.BeginObject().Field("name", step.name);
    json.Field("step_num", step.number).Field("begin_ns", Nanoseconds(step.start));
    json.Field("duration_ns", Nanoseconds(step.duration)).Field("by", ToString(source));
    json.EndObject();
  }
  json.EndArray();
  AppendLongest(attribution.store(), steps, json);
}

}  // namespace hloscope::app
