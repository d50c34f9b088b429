#include "app/reports/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "app/error_status.h"
#include "app/reports/attributed_modules.h"
#include "app/reports/critical_path_report.h"
#include "app/reports/launch_report.h"
#include "app/reports/lines_report.h"
#include "app/reports/profile_sums_report.h"
#include "app/reports/what_if_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/hlo/analysis/source_line.h"
#include "profiler/module_runs.h"

namespace hloscope::app {
namespace {

using profiler::DurationStatistics;
using profiler::EventStore;
using profiler::InstructionTime;
using profiler::Lane;
using profiler::LaneId;
using profiler::Loss;

constexpr size_t kNameWidth = 60;

// The first characters of a name that may be of any length.
std::string Shortened(std::string_view name) {
  if (name.size() <= kNameWidth) return std::string(name);
  return std::string(name.substr(0, kNameWidth - 3)) + "...";
}

struct InstructionWords {
  std::string module, name, opcode, source;
};

// "jit_f ran 4 times, once on each of 4 devices", a line for each module that ran.
std::string RunsText(const profiler::Attribution& attribution,
                     std::span<const std::string> labels) {
  std::string out;
  const std::vector<profiler::ModuleRuns> runs = profiler::ModuleRunsOf(attribution);
  for (size_t m = 0; m < runs.size(); ++m) {
    const auto& [count, is_cut, devices] = runs[m];
    if (count == 0) continue;
    out += FormatText("{} ran {}", labels[m], Counted(count, "time"));
    if (devices > 1) {
      out += count % devices == 0 ? FormatText(", {} on each of {} devices",
                                               Counted(count / devices, "time"), devices)
                                  : FormatText(", on {} devices", devices);
    }
    out += '\n';
  }
  return out;
}

InstructionWords WordsOf(const ProfileReport& report, const InstructionTime& time) {
  const auto& owner = report.attribution->modules()[time.target.module];
  const hlo::Module& module = *owner.module;
  const hlo::Instruction& instruction = module[time.target.instruction];
  return {owner.name, std::string(module.name(time.target.instruction)),
          std::string(hlo::Info(instruction.opcode).text),
          ToString(hlo::SourceLineOf(module, time.target.instruction))};
}

void AppendLanes(const ProfileReport& report, std::string& out) {
  const EventStore& store = *report.profile->store;
  for (const profiler::Group& group : store.groups()) {
    if (group.lanes.empty()) continue;
    out += FormatText("{}\n", Shortened(store.text(group.name)));
    for (LaneId id : group.lanes) {
      const Lane& lane = store.lanes()[id.index];
      out += FormatText("  {:<60} {:>17} in {}\n", Shortened(store.text(lane.name)),
                        Counted(lane.event_count, "event"), Counted(lane.row_count, "row"));
    }
  }
}

void AppendInstructions(const ProfileReport& report, std::string& out) {
  const profiler::Attribution& attribution = *report.attribution;
  const auto& totals = attribution.totals();
  if (totals.work == 0) {
    out += "no event names an instruction or a kernel\n" + StepsText(attribution.store());
    return;
  }
  out += FormatText("{} busy, {:.1f} % attributed to instructions; {} outside of instructions",
                    DurationText(totals.work), 100 * totals.share(),
                    totals.between == 0 ? "nothing" : DurationText(totals.between));
  for (const profiler::UnattributedTime& part : attribution.between()) {
    out += FormatText("{}{} {}", part.name == attribution.between().front().name ? ": " : ", ",
                      report.profile->store->text(part.name), DurationText(part.self));
  }
  out += '\n';
  out += CommandBuffersText(attribution) + StepsText(attribution.store());
  const std::vector<std::string> labels = ModuleLabels(attribution);
  out += RunsText(attribution, labels);
  if (!attribution.times().empty()) {
    out += FormatText("{:>7} {:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  instruction\n", "share",
                      "self", "count", "min", "median", "p90", "max");
  }
  const size_t rows = std::min(report.top, attribution.times().size());
  for (const InstructionTime& time : attribution.times().first(rows)) {
    const InstructionWords words = WordsOf(report, time);
    out += FormatText("{:>5.1f} % {:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  {}:{} ({}){}\n",
                      100 * static_cast<double>(time.self) / static_cast<double>(totals.work),
                      DurationText(time.self), time.count, DurationText(time.min),
                      DurationText(time.median), DurationText(time.p90), DurationText(time.max),
                      labels[time.target.module], Shortened(words.name), words.opcode,
                      words.source.empty() ? "" : "  " + words.source);
    if (time.target.reason == profiler::AttributionReason::kOnlyCandidate)
      out += FormatText("{:>82}{}\n", "", ToString(time.target.reason));
  }
  out += CategoriesText(attribution);
  for (const profiler::UnattributedTime& time :
       attribution.unattributed().first(std::min(report.top, attribution.unattributed().size()))) {
    out += FormatText("{:>5.1f} % {:>10} {:>8} {:>43}  {} (no instruction)\n",
                      100 * static_cast<double>(time.self) / static_cast<double>(totals.work),
                      DurationText(time.self), time.count, "",
                      Shortened(report.profile->store->text(time.name)));
  }
}

void AppendNames(const ProfileReport& report, std::string& out) {
  out += FormatText("{:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  event\n", "total", "count", "min",
                    "median", "p99", "max");
  const size_t rows = std::min(report.top, report.names.size());
  for (const DurationStatistics& s : std::span(report.names).first(rows)) {
    out += FormatText("{:>10} {:>8} {:>10} {:>10} {:>10} {:>10}  {}\n", DurationText(s.total),
                      s.count, DurationText(s.min), DurationText(s.p50), DurationText(s.p99),
                      DurationText(s.max),
                      Shortened(report.profile->store->text(profiler::NameId(s.key))));
  }
  if (rows < report.names.size()) {
    out += FormatText("{:>10} more (--top {})\n", report.names.size() - rows, report.names.size());
  }
}

std::string LossText(std::string_view verb, const Loss& loss) {
  return FormatText("{}: {} ({}), first: {}\n", verb, loss.what, loss.count, loss.first);
}

void AppendLosses(JsonWriter& json, std::string_view key, const std::vector<Loss>& losses) {
  json.Key(key).BeginArray();
  for (const Loss& loss : losses) {
    json.BeginObject()
        .Field("what", loss.what)
        .Field("count", loss.count)
        .Field("first", loss.first)
        .EndObject();
  }
  json.EndArray();
}

void AppendCounters(const EventStore& store, std::string& out) {
  for (const profiler::Counter& counter : store.counters()) {
    if (counter.sample_count == 0) continue;
    const auto [least, most] = std::ranges::minmax(store.values(counter));
    const std::string_view unit = store.text(counter.unit);
    out += FormatText(
        "  {:<60} {:>17} {}{}{}\n", Shortened(store.text(counter.name)),
        Counted(counter.sample_count, "sample"),
        least == most ? FormatText("at {}", least) : FormatText("from {} to {}", least, most),
        unit.empty() ? "" : " ", unit);
  }
}

void AppendCounters(const EventStore& store, JsonWriter& json) {
  json.Key("counters").BeginArray();
  for (const profiler::Counter& counter : store.counters()) {
    json.BeginObject()
        .Field("plane", store.text(store.groups()[counter.group].name))
        .Field("name", store.text(counter.name))
        .Field("unit", store.text(counter.unit))
        .Field("samples", counter.sample_count);
    if (counter.sample_count > 0) {
      const auto [least, most] = std::ranges::minmax(store.values(counter));
      json.Field("min", least).Field("max", most).Field("last", store.values(counter).back());
    }
    json.EndObject();
  }
  json.EndArray();
}

void AppendArgument(JsonWriter& json, const profiler::Argument& argument) {
  json.Key(argument.name);
  std::visit([&](const auto& value) { json.Value(value); }, argument.value);
}

void AppendGroups(const ProfileReport& report, JsonWriter& json) {
  const EventStore& store = *report.profile->store;
  json.Key("planes").BeginArray();
  for (const profiler::Group& group : store.groups()) {
    json.BeginObject().Field("name", store.text(group.name)).Field("is_device", group.is_device);
    json.Key("facts").BeginObject();
    for (const profiler::Argument& fact : group.facts) AppendArgument(json, fact);
    json.EndObject().Key("lanes").BeginArray();
    for (LaneId id : group.lanes) {
      const Lane& lane = store.lanes()[id.index];
      json.BeginObject()
          .Field("name", store.text(lane.name))
          .Field("role", ToString(lane.role))
          .Field("events", lane.event_count)
          .Field("rows", lane.row_count)
          .EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

void AppendInstruction(const ProfileReport& report, const InstructionTime& time, JsonWriter& json) {
  const InstructionWords words = WordsOf(report, time);
  const auto& totals = report.attribution->totals();
  json.BeginObject()
      .Field("module", words.module)
      .Field("program", report.attribution->modules()[time.target.module].program)
      .Field("instruction", words.name)
      .Field("opcode", words.opcode)
      .Field("source", words.source)
      .Field("reason", ToString(time.target.reason))
      .Field("count", time.count)
      .Field("self_us", Nanoseconds(time.self) / 1e3)
      .Field("self_ns", Nanoseconds(time.self))
      .Field("total_ns", Nanoseconds(time.total))
      .Field("mean_ns", Nanoseconds(time.total) / static_cast<double>(time.count))
      .Field("min_ns", Nanoseconds(time.min))
      .Field("median_ns", Nanoseconds(time.median))
      .Field("p90_ns", Nanoseconds(time.p90))
      .Field("max_ns", Nanoseconds(time.max))
      .Field("share", static_cast<double>(time.self) /
                          static_cast<double>(std::max<int64_t>(totals.work, 1)));
  const auto index = static_cast<size_t>(&time - report.attribution->times().data());
  if (index < report.sums.size()) {
    AppendLaunches(report.sums[index], json);
    AppendMetrics(report.sums[index].metrics, json);
    AppendLines(report.sums[index].lines, json);
  }
  json.EndObject();
}

void AppendAttribution(const ProfileReport& report, JsonWriter& json) {
  const profiler::Attribution& attribution = *report.attribution;
  const auto& totals = attribution.totals();
  json.Field("work_ns", Nanoseconds(totals.work))
      .Field("attributed_ns", Nanoseconds(totals.attributed))
      .Field("between_ns", Nanoseconds(totals.between))
      .Field("share", totals.share());
  json.Key("module_runs").BeginArray();
  const std::vector<profiler::ModuleRuns> runs = profiler::ModuleRunsOf(attribution);
  for (size_t m = 0; m < runs.size(); ++m) {
    const profiler::AttributedModule& module = attribution.modules()[m];
    json.BeginObject().Field("module", module.name).Field("program", module.program).Key("runs");
    runs[m].count > 0 ? json.Value(runs[m].count) : json.Null();
    json.Field("devices", runs[m].devices);
    json.EndObject();
  }
  json.EndArray().Key("instructions").BeginArray();
  for (const InstructionTime& time : attribution.times()) AppendInstruction(report, time, json);
  json.EndArray();
  const auto names = [&](std::string_view key, std::span<const profiler::UnattributedTime> times) {
    json.Key(key).BeginArray();
    for (const profiler::UnattributedTime& time : times) {
      json.BeginObject()
          .Field("name", report.profile->store->text(time.name))
          .Field("count", time.count)
          .Field("self_ns", Nanoseconds(time.self))
          .EndObject();
    }
    json.EndArray();
  };
  AppendSums(attribution, json);
  names("unattributed", attribution.unattributed());
  names("between", attribution.between());
}

void AppendNames(const ProfileReport& report, JsonWriter& json) {
  json.Key("events_by_name").BeginArray();
  const size_t rows = std::min(report.top, report.names.size());
  for (const DurationStatistics& s : std::span(report.names).first(rows)) {
    json.BeginObject()
        .Field("name", report.profile->store->text(profiler::NameId(s.key)))
        .Field("count", s.count)
        .Field("total_ns", Nanoseconds(s.total))
        .Field("min_ns", Nanoseconds(s.min))
        .Field("p50_ns", Nanoseconds(s.p50))
        .Field("p90_ns", Nanoseconds(s.p90))
        .Field("p99_ns", Nanoseconds(s.p99))
        .Field("max_ns", Nanoseconds(s.max))
        .EndObject();
  }
  json.EndArray();
}

void AppendTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

void AppendRuns(const RecordedRuns& runs, std::string& out) {
  if (!runs.written.empty()) out += FormatText("written to {}\n", runs.written);
  for (const Loss& loss : runs.lost) out += LossText("has no place in this format", loss);
  if (!runs.run_us.empty()) {
    out += FormatText("{} on {}{}{}: {}, median {}\n", runs.module, runs.platform,
                      runs.reference.empty() ? "" : " and on ", runs.reference,
                      Counted(runs.run_us.size(), "run"),
                      DurationText(static_cast<int64_t>(Median(runs.run_us) * 1e6)));
  }
  const auto overhead = runs.overhead();
  if (!overhead) {
    out += runs.unrecorded_us.empty()
               ? "overhead of recording: not measured\n"
               : "overhead of recording: not measured, the first run takes longer with it or "
                 "without; --repeat 5 measures it\n";
    return;
  }
  out += FormatText(
      "overhead of recording: {:+.1f} % (median of {} after the first, each alternating with one "
      "that "
      "is not recorded: {}); results have {} bits without it\n",
      100 * *overhead, Counted(runs.unrecorded_us.size() - 1, "run"),
      DurationText(static_cast<int64_t>(Median(runs.unrecorded_us) * 1e6)),
      runs.same_bits ? "the same" : "OTHER");
}

void AppendRuns(const RecordedRuns& runs, JsonWriter& json) {
  json.Field("module", runs.module).Field("platform", runs.platform).Key("reference");
  runs.reference.empty() ? json.Null() : json.Value(runs.reference);
  json.Key("written");
  runs.written.empty() ? json.Null() : json.Value(runs.written);
  AppendLosses(json, "lost", runs.lost);
  const auto times = [&](std::string_view key, const std::vector<double>& values) {
    json.Key(key).BeginArray();
    for (const double us : values) json.Value(us);
    json.EndArray();
  };
  times("run_us", runs.run_us);
  times("unrecorded_us", runs.unrecorded_us);
  json.Key("overhead");
  const auto overhead = runs.overhead();
  overhead ? json.Value(*overhead) : json.Null();
  json.Key("same_bits");
  runs.unrecorded_us.empty() ? json.Null() : json.Value(runs.same_bits);
}

}  // namespace

std::vector<std::string> ModuleLabels(const profiler::Attribution& attribution) {
  const std::span<const profiler::AttributedModule> modules = attribution.modules();
  std::map<std::string_view, std::vector<size_t>> by_name;
  for (size_t m = 0; m < modules.size(); ++m) by_name[modules[m].name].push_back(m);
  std::vector<std::string> labels(modules.size());
  for (const auto& [name, all] : by_name) {
    std::set<int64_t> programs;
    for (const size_t m : all) programs.insert(modules[m].program);
    for (size_t k = 0; k < all.size(); ++k) {
      std::string& label = labels[all[k]] = std::string(name);
      if (all.size() == 1) continue;
      label += programs.size() == all.size() ? fmt::format("({})", modules[all[k]].program)
                                             : fmt::format("({} of {})", k + 1, all.size());
    }
  }
  return labels;
}

std::optional<double> RecordedRuns::overhead() const {
  if (run_us.size() < 2 || unrecorded_us.size() < 2) return std::nullopt;
  const std::vector<double> with(run_us.begin() + 1, run_us.end());
  const std::vector<double> without(unrecorded_us.begin() + 1, unrecorded_us.end());
  return Median(with) / std::max(Median(without), 1e-3) - 1;
}

Result<ProfileReport> ReadProfileReport(const FileView& file,
                                        const std::vector<profiler::AttributedModule>& given,
                                        const Limits& limits, Jobs& jobs) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto profile, profiler::ReadProfile(file, limits, jobs));
  HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report,
                            MakeProfileReport(std::move(profile), given, limits, jobs));
  report.path = file.path();
  return report;
}

Result<ProfileReport> MakeProfileReport(std::shared_ptr<const profiler::Profile> profile,
                                        const std::vector<profiler::AttributedModule>& given,
                                        const Limits& limits, Jobs& jobs) {
  ProfileReport report;
  report.profile = std::move(profile);
  std::vector<profiler::AttributedModule> modules =
      profiler::ReadEmbeddedModules(*report.profile, limits, report.warnings);
  AddGivenModules(*report.profile->store, given, modules);
  HLOSCOPE_ASSIGN_OR_RETURN(
      report.attribution,
      profiler::Attribution::Make(report.profile->store, std::move(modules), jobs));
  HLOSCOPE_ASSIGN_OR_RETURN(report.sums, profiler::LaunchSumsOf(*report.attribution));
  return report;
}

Status AddStatistics(ProfileReport& report, Jobs& jobs) {
  const EventStore& store = *report.profile->store;
  const profiler::TimeRange all{store.range().begin, store.range().end + 1};
  HLOSCOPE_ASSIGN_OR_RETURN(report.names, profiler::Statistics(store, {all, {}}, jobs));
  HLOSCOPE_ASSIGN_OR_RETURN(report.critical_path,
                            profiler::FindCriticalPath(*report.attribution, std::nullopt, jobs));
  return {};
}

double Nanoseconds(int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e3; }

std::string DurationText(int64_t picoseconds) {
  static constexpr struct {
    double picoseconds;
    std::string_view unit;
  } kUnits[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}};
  const double value = static_cast<double>(picoseconds);
  for (const auto& [size, unit] : kUnits) {
    const double in_unit = value / size;
    if (std::abs(in_unit) < 0.9995 && size > 1) continue;
    const int digits = std::abs(in_unit) < 9.995 ? 2 : std::abs(in_unit) < 99.95 ? 1 : 0;
    return FormatText("{:.{}f} {}", in_unit, size == 1 ? 0 : digits, unit);
  }
  return "0 ps";
}

std::string ProfileText(const ProfileReport& report) {
  const profiler::Profile& profile = *report.profile;
  const EventStore& store = *profile.store;
  std::string out =
      FormatText("{}: {}, {} in {}\n", report.path, ToString(profile.format),
                 Counted(store.size(), "event"), DurationText(store.range().length()));
  if (report.recorded) AppendRuns(*report.recorded, out);
  AppendLanes(report, out);
  AppendCounters(store, out);
  for (const auto& [key, value] : profile.environment) out += FormatText("{}: {}\n", key, value);
  out += '\n';
  AppendInstructions(report, out);
  out += '\n';
  for (const std::string& table : {LaunchesText(report), MetricsText(report), LinesText(report)}) {
    if (!table.empty()) out += table + '\n';
  }
  out += WhatIfText(report);
  out += CriticalPathText(*report.attribution, report.critical_path, report.top);
  if (!report.critical_path.steps.empty()) out += '\n';
  AppendNames(report, out);
  if (profile.modules_file) out += FormatText("modules from {}\n", profile.modules_file->path());
  for (const std::string& error : profile.errors) out += FormatText("profiler error: {}\n", error);
  for (const std::string& text : profile.warnings)
    out += FormatText("profiler warning: {}\n", text);
  for (const std::string& warning : report.warnings) out += FormatText("warning: {}\n", warning);
  for (const Loss& loss : profile.losses) out += LossText("skipped", loss);
  if (report.recorded && !report.recorded->run_text.empty())
    out += "\n" + report.recorded->run_text;
  return out;
}

std::string ProfileJson(const ProfileReport& report) {
  const profiler::Profile& profile = *report.profile;
  const EventStore& store = *profile.store;
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", report.path);
  if (report.recorded && report.recorded->error) {
    WriteErrorStatus(json, *report.recorded->error);
    json.Field("error", report.recorded->error->ToString());
  } else {
    json.Field("status", report.recorded && report.recorded->differs ? "differs" : "ok");
  }
  json.Field("format", ToString(profile.format))
      .Field("events", store.size())
      .Field("lanes", store.lanes().size())
      .Field("attributed", report.attribution->totals().share())
      .Field("origin_ns", store.origin_ns())
      .Field("begin_ns", Nanoseconds(store.range().begin))
      .Field("span_ns", Nanoseconds(store.range().length()));
  if (report.recorded) AppendRuns(*report.recorded, json);
  AppendTexts(json, "hosts", profile.hosts);
  json.Key("environment").BeginObject();
  for (const auto& [key, value] : profile.environment) json.Field(key, value);
  json.EndObject();
  AppendGroups(report, json);
  AppendCounters(store, json);
  json.Key("modules").BeginArray();
  for (const profiler::EmbeddedModule& module : profile.modules) {
    json.BeginObject()
        .Field("name", module.name)
        .Field("program", module.program)
        .Field("bytes", module.hlo_proto.size() + module.hlo_text.size())
        .EndObject();
  }
  json.EndArray().Key("modules_file");
  profile.modules_file ? json.Value(profile.modules_file->path()) : json.Null();
  AppendAttribution(report, json);
  AppendWhatIf(report, json);
  AppendCriticalPath(*report.attribution, report.critical_path, json);
  AppendNames(report, json);
  AppendTexts(json, "errors", profile.errors);
  std::vector<std::string> warnings = profile.warnings;
  warnings.insert(warnings.end(), report.warnings.begin(), report.warnings.end());
  AppendTexts(json, "warnings", warnings);
  AppendLosses(json, "losses", profile.losses);
  json.Field("time_ms", report.time_ms).EndObject();
  if (report.recorded) {
    std::string run = report.recorded->run_json;
    while (run.ends_with('\n')) run.pop_back();
    out.pop_back();  // the brace
    out += ",\"run\":" + (run.empty() ? "null" : run) + "}";
  }
  return out + "\n";
}

std::string RecordedText(const ProfileReport& report, int64_t number) {
  const RecordedRuns& runs = *report.recorded;
  return FormatText("recording {}: {}, median {}{}{}\n", number, Counted(runs.run_us.size(), "run"),
                    DurationText(static_cast<int64_t>(Median(runs.run_us) * 1e6)),
                    runs.written.empty() ? "" : ", written to ", runs.written);
}

std::string ConversionText(const ProfileReport& report, const std::string& out,
                           const std::vector<Loss>& lost) {
  const EventStore& store = *report.profile->store;
  std::string text = FormatText("{}: {} and {} of {}\n", out, Counted(store.size(), "event"),
                                Counted(store.sample_count(), "sample"), report.path);
  for (const Loss& loss : report.profile->losses) text += LossText("skipped", loss);
  for (const Loss& loss : lost) text += LossText("has no place in this format", loss);
  return text;
}

std::string WrittenText(const ProfileReport& report, const std::vector<Loss>& lost) {
  const profiler::Profile& profile = *report.profile;
  const EventStore& store = *profile.store;
  std::string text = FormatText(
      "profile {}: {}, {} (overhead of recording: not measured; `hloscope profile MODULE` does)\n",
      report.path, Counted(store.size(), "event"), Counted(store.sample_count(), "sample"));
  for (const std::string& warning : profile.warnings) text += FormatText("profile: {}\n", warning);
  for (const Loss& loss : profile.losses) text += LossText("not recorded", loss);
  for (const Loss& loss : lost) text += LossText("has no place in this format", loss);
  return text;
}

std::string ConversionJson(const ProfileReport& report, const std::string& out,
                           const std::vector<Loss>& lost) {
  const EventStore& store = *report.profile->store;
  std::string text;
  JsonWriter json(text);
  json.BeginObject()
      .Field("file", report.path)
      .Field("status", "ok")
      .Field("format", ToString(report.profile->format))
      .Field("output", out)
      .Field("events", store.size())
      .Field("lanes", store.lanes().size())
      .Field("samples", store.sample_count());
  AppendLosses(json, "losses", report.profile->losses);
  AppendLosses(json, "lost", lost);
  json.EndObject();
  return text + "\n";
}

}  // namespace hloscope::app
