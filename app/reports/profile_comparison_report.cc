// A table of instructions: before, after, change, and what is more than noise; then what fusions,
// categories and source lines changed.
#include "app/reports/profile_comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using profiler::ComparedTime;
using profiler::ProfileComparison;

std::string Signed(double picoseconds) {
  return (picoseconds < 0 ? "-" : "+") + DurationText(std::llround(std::abs(picoseconds)));
}

// Nothing is no fraction of something.
std::string RatioText(int64_t before, double after) {
  if (before <= 0) return "";
  return FormatText("{:.2f}x", after / static_cast<double>(before));
}

std::string Times(double ratio) {
  if (ratio > 1000) return ">1000x";
  return FormatText("{:.2f}x", ratio);
}

bool IsOne(double ratio) { return std::abs(ratio - 1) < 1e-9; }

// "jit_f:dot.3 (dot)", or what a group is called.
std::string NameOf(const ComparedTime& row) {
  if (row.opcode.empty())
    return FormatText("{} ({})", row.instruction, Counted(row.members, "instruction"));
  std::string text = FormatText("{}:{} ({})", row.module, row.instruction, row.opcode);
  if (!IsOne(row.often)) text += FormatText(", ran {:.2f} times as often a run", row.often);
  if (!row.source_line.empty()) text += FormatText("  {}", row.source_line);
  return text;
}

void AppendHead(std::string_view what, std::string& out) {
  out += FormatText("{:>10} {:>7} {:>15} {:>10} {:>10}  {:<15}  {}\n", "change", "ratio", "may be",
                    "before", "after", "", what);
}

// Typical times where they are known, else what it took in all.
void AppendRow(const ComparedTime& row, std::string& out) {
  const auto& ratio = row.ratio;
  const double before = ratio ? ratio->before : static_cast<double>(row.before);
  const double after = ratio ? ratio->after : row.after_scaled;
  out += FormatText("{:>10} {:>7} {:>15} {:>10} {:>10}  {:<15}  {}\n", Signed(after - before),
                    ratio ? Times(ratio->ratio) : "",
                    ratio ? Times(ratio->low) + ".." + Times(ratio->high) : "",
                    row.before_count > 0 ? DurationText(std::llround(before)) : "-",
                    row.after_count > 0 ? DurationText(std::llround(after)) : "-",
                    ToString(row.verdict), NameOf(row));
}

size_t NamedIn(const std::vector<ComparedTime>& rows) {
  return static_cast<size_t>(std::ranges::count_if(rows, &ComparedTime::is_named));
}

// The change that would be named, as long as it is one that a program may show.
std::string ToldFromText(double told_from) {
  constexpr double kMost = 100;
  if (told_from < 1) return FormatText("a change of {:.0f} % would be named", 100 * told_from);
  if (told_from <= kMost) return FormatText("{:.1f} times the time would be named", 1 + told_from);
  return "the noise is larger than any change";
}

// What holds of all that follows.
void AppendSummary(const ProfileComparison& c, std::string& out) {
  if (const std::string runs = profiler::RunsText(c, "the second"); !runs.empty())
    out += FormatText("{}\n", runs);
  if (c.speed) {
    out += FormatText(
        "instructions of the second took {:.2f} times as long in the median: taken for the speed "
        "of the machine, and taken out below\n",
        *c.speed);
  }
  if (c.judged == 0) {
    out += "no change is distinguishable from noise\n";
  } else {
    const size_t named = NamedIn(c.rows);
    out += FormatText("{} changed beyond noise; in the median instruction {}\n",
                      named == 0 ? "no instruction" : Counted(named, "instruction"),
                      ToldFromText(c.told_from));
    out += FormatText(
        "before, after: what all executions typically take together; may be: what the noise leaves "
        "open, for all {} ratios at once at {:g} %\n",
        c.judged, 100 * (1 - profiler::kComparisonError));
  }
  for (const std::string& note : c.notes) out += FormatText("note: {}\n", note);
}

void AppendGroups(std::string_view what, const std::vector<ComparedTime>& rows, std::string& out) {
  if (NamedIn(rows) == 0) return;
  out += '\n';
  AppendHead(what, out);
  for (const ComparedTime& row : rows) {
    if (row.is_named()) AppendRow(row, out);
  }
}

void WriteRow(const ComparedTime& row, JsonWriter& json) {
  json.BeginObject();
  if (row.opcode.empty()) {
    json.Field("name", row.instruction).Field("members", row.members);
  } else {
    json.Field("module", row.module)
        .Field("instruction", row.instruction)
        .Field("opcode", row.opcode)
        .Field("source", row.source_line);
  }
  json.Field("a_count", row.before_count)
      .Field("b_count", row.after_count)
      .Field("a_ns", Nanoseconds(row.before))
      .Field("b_ns", Nanoseconds(row.after))
      .Field("change_ns", row.change() / 1e3)
      .Field("often", row.often)
      .Field("verdict", KeyOf(row.verdict));
  const auto number = [&](std::string_view key, double profiler::ChangeRatio::* field) {
    json.Key(key);
    row.ratio ? json.Value(*row.ratio.*field) : json.Null();
  };
  number("ratio", &profiler::ChangeRatio::ratio);
  number("ratio_low", &profiler::ChangeRatio::low);
  number("ratio_high", &profiler::ChangeRatio::high);
  json.Key("a_typical_ns");
  row.ratio ? json.Value(row.ratio->before / 1e3) : json.Null();
  json.Key("b_typical_ns");
  row.ratio ? json.Value(row.ratio->after / 1e3) : json.Null();
  json.EndObject();
}

}  // namespace

Result<ComparedReports> CompareReports(std::span<const ProfileReport> a,
                                       std::span<const ProfileReport> b, Jobs& jobs) {
  ComparedReports out;
  std::vector<profiler::ComparedRecording> before, after;
  const auto take = [&](std::span<const ProfileReport> reports, std::string& paths,
                        std::vector<profiler::ComparedRecording>& recordings) {
    for (const ProfileReport& report : reports) {
      paths += (paths.empty() ? "" : ",") + report.path;
      recordings.push_back(profiler::RecordingOf(*report.profile, report.attribution, false));
      for (const std::string& warning : report.warnings)
        out.warnings.push_back(report.path + ": " + warning);
    }
  };
  take(a, out.a, before);
  take(b, out.b, after);
  HLOSCOPE_ASSIGN_OR_RETURN(out.comparison, profiler::CompareProfiles(before, after, jobs));
  return out;
}

Result<ComparedReports> CompareWithReference(std::span<const ProfileReport> reports, std::string a,
                                             std::string b, Jobs& jobs) {
  std::vector<profiler::ComparedRecording> sides[2];
  for (const ProfileReport& report : reports) {
    for (const bool reference : {false, true}) {
      sides[reference ? 1 : 0].push_back(
          profiler::RecordingOf(*report.profile, report.attribution, reference));
    }
  }
  ComparedReports out{std::move(a), std::move(b), {}, {}};
  HLOSCOPE_ASSIGN_OR_RETURN(out.comparison, profiler::CompareProfiles(sides[0], sides[1], jobs));
  return out;
}

std::string ProfileComparisonText(const ComparedReports& compared, size_t top) {
  const ProfileComparison& c = compared.comparison;
  const double after = c.total.after_scaled;
  std::string out =
      FormatText("{} -> {}\n{} -> {} on instructions ({} {})\n", compared.a, compared.b,
                 DurationText(c.before), DurationText(std::llround(after)),
                 Signed(after - static_cast<double>(c.before)), RatioText(c.before, after));
  if (c.rows.empty()) {
    out += "no event in either names an instruction (--module names the modules that ran)\n";
    return out;
  }
  AppendSummary(c, out);
  out += '\n';
  AppendHead("instruction", out);
  const size_t shown = std::min(std::max(top, NamedIn(c.rows)), c.rows.size());
  for (const ComparedTime& row : std::span(c.rows).first(shown)) AppendRow(row, out);
  if (shown < c.rows.size())
    out += FormatText("{} more (--top {})\n", c.rows.size() - shown, c.rows.size());
  AppendGroups("fusion with its parts", c.fusions, out);
  AppendGroups("category", c.categories, out);
  AppendGroups("source line", c.source_lines, out);
  for (const std::string& warning : compared.warnings) out += FormatText("warning: {}\n", warning);
  return out;
}

std::string ProfileComparisonJson(const ComparedReports& compared) {
  const ProfileComparison& c = compared.comparison;
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("a", compared.a)
      .Field("b", compared.b)
      .Field("status", "ok")
      .Field("runs", c.runs)
      .Key("modules")
      .BeginArray();
  for (const profiler::ComparedRuns& runs : c.modules) {
    json.BeginObject().Field("module", runs.module);
    for (const auto& [key, count] : {std::pair("a_runs", runs.before), {"b_runs", runs.after}}) {
      json.Key(key);
      count > 0 ? json.Value(count) : json.Null();
    }
    json.EndObject();
  }
  json.EndArray()
      .Field("a_recordings", c.before_recordings)
      .Field("b_recordings", c.after_recordings)
      .Field("a_ns", Nanoseconds(c.before))
      .Field("b_ns", Nanoseconds(c.after))
      .Field("confidence", 1 - profiler::kComparisonError)
      .Field("judged", c.judged)
      .Key("speed");
  c.speed ? json.Value(*c.speed) : json.Null();
  json.Field("spread", c.spread).Key("told_from");
  c.judged > 0 ? json.Value(c.told_from) : json.Null();
  json.Key("total");
  WriteRow(c.total, json);
  const std::pair<std::string_view, const std::vector<ComparedTime>*> tables[] = {
      {"instructions", &c.rows},
      {"fusions", &c.fusions},
      {"categories", &c.categories},
      {"source_lines", &c.source_lines}};
  for (const auto& [key, rows] : tables) {
    json.Key(key).BeginArray();
    for (const ComparedTime& row : *rows) WriteRow(row, json);
    json.EndArray();
  }
  json.Key("notes").BeginArray();
  for (const std::string& note : c.notes) json.Value(note);
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& warning : compared.warnings) json.Value(warning);
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
