// A table of instructions: before, after, change and ratio.
#include "app/reports/profile_comparison_report.h"

#include <fmt/format.h>

#include <cmath>

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
  return fmt::format("{:.2f}x", after / static_cast<double>(before));
}

}  // namespace

std::string ProfileComparisonText(const ProfileReport& a, const ProfileReport& b,
                                  const ProfileComparison& comparison) {
  const double after = static_cast<double>(comparison.after) / comparison.runs;
  std::string out = fmt::format("{} -> {}\n{} -> {} on instructions ({} {})\n", a.path, b.path,
                                DurationText(comparison.before), DurationText(std::llround(after)),
                                Signed(after - static_cast<double>(comparison.before)),
                                RatioText(comparison.before, after));
  if (comparison.runs != 1) {
    out += fmt::format("the second ran {:.2f} times as often; its times are divided by that\n",
                       comparison.runs);
  }
  if (comparison.rows.empty()) {
    out += "no event in either names an instruction (--module names the modules that ran)\n";
    return out;
  }
  out += fmt::format("{:>10} {:>8} {:>10} {:>10}  instruction\n", "change", "ratio", "before",
                     "after");
  const size_t shown = std::min(a.top, comparison.rows.size());
  for (const ComparedTime& row : std::span(comparison.rows).first(shown)) {
    out += fmt::format("{:>10} {:>8} {:>10} {:>10}  {}:{} ({})\n", Signed(row.change()),
                       RatioText(row.before, row.after_scaled),
                       row.before_count > 0 ? DurationText(row.before) : "-",
                       row.after_count > 0 ? DurationText(std::llround(row.after_scaled)) : "-",
                       row.module, row.instruction, row.opcode);
  }
  if (shown < comparison.rows.size())
    out +=
        fmt::format("{} more (--top {})\n", comparison.rows.size() - shown, comparison.rows.size());
  return out;
}

std::string ProfileComparisonJson(const ProfileReport& a, const ProfileReport& b,
                                  const ProfileComparison& comparison) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("a", a.path)
      .Field("b", b.path)
      .Field("status", "ok")
      .Field("runs", comparison.runs)
      .Field("a_ns", Nanoseconds(comparison.before))
      .Field("b_ns", Nanoseconds(comparison.after))
      .Key("instructions")
      .BeginArray();
  for (const ComparedTime& row : comparison.rows) {
    json.BeginObject()
        .Field("module", row.module)
        .Field("instruction", row.instruction)
        .Field("opcode", row.opcode)
        .Field("a_count", row.before_count)
        .Field("b_count", row.after_count)
        .Field("a_ns", Nanoseconds(row.before))
        .Field("b_ns", Nanoseconds(row.after))
        .Field("change_ns", row.change() / 1e3)
        .EndObject();
  }
  json.EndArray().Key("warnings").BeginArray();
  for (const ProfileReport* report : {&a, &b}) {
    for (const std::string& warning : report->warnings) json.Value(report->path + ": " + warning);
  }
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
