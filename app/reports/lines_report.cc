// Lines of PTX, hottest first.
#include "app/reports/lines_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/text.h"

namespace hloscope::app {
namespace {

constexpr size_t kStallsInText = 2, kMaxText = 72;

struct HotLine {
  const profiler::PtxLine* line;
  size_t instruction;  // of the report's times
};

// "long_scoreboard 61 %, wait 20 %".
std::string StallsText(const profiler::PtxLine& line) {
  std::string out;
  for (const auto& [word, count] : line.MostStalls() | std::views::take(kStallsInText)) {
    out += FormatText("{}{} {:.0f} %", out.empty() ? "" : ", ", word,
                      100 * static_cast<double>(count) / static_cast<double>(line.count));
  }
  return out;
}

std::string Cut(std::string_view text) {
  return EscapeForTerminal(text.size() <= kMaxText ? std::string(text)
                                                   : FormatText("{}…", text.substr(0, kMaxText)));
}

}  // namespace

std::string LinesText(const ProfileReport& report) {
  std::vector<HotLine> hot;
  uint64_t total = 0;
  bool is_sampled = false;
  for (size_t i = 0; i < report.sums.size(); ++i) {
    const profiler::PtxLines& lines = report.sums[i].lines;
    total += lines.total();
    is_sampled |= !lines.empty() && lines.counting() == profiler::LineCounting::kSamples;
    for (const profiler::PtxLine* line : lines.InOrder()) hot.push_back({line, i});
  }
  if (hot.empty()) return {};
  std::ranges::stable_sort(hot, std::ranges::greater(),
                           [](const HotLine& each) { return each.line->count; });
  std::string out =
      is_sampled
          ? FormatText("{} of program counters in separate runs; the hottest lines of PTX:\n",
                       Counted(total, "sample"))
          : FormatText(
                "{} executed by warps on a simulated GPU (counts, not time samples); the most "
                "executed lines of PTX:\n",
                Counted(total, "instruction"));
  out +=
      FormatText("{:>12} {:>7}  {}{:<28} {}\n", is_sampled ? "samples" : "executed", "share",
                 is_sampled ? FormatText("{:<42} ", "warps waited for") : "", "kernel:line", "PTX");
  for (const HotLine& each : hot | std::views::take(report.top)) {
    const profiler::PtxLine& line = *each.line;
    out += FormatText(
        "{:>12} {:>5.1f} %  {}{:<28} {}\n", line.count,
        100 * static_cast<double>(line.count) / static_cast<double>(std::max<uint64_t>(total, 1)),
        is_sampled ? FormatText("{:<42} ", StallsText(line)) : "",
        FormatText("{}:{}", line.kernel, line.line),
        line.line == 0 ? "(no known line)" : Cut(line.text));
  }
  return out;
}

void AppendLines(const profiler::PtxLines& lines, JsonWriter& json) {
  if (lines.empty()) return;
  json.Key("ptx_lines").BeginObject();
  json.Field("counted", ToString(lines.counting())).Field("total", lines.total());
  json.Key("lines").BeginArray();
  for (const profiler::PtxLine* line : lines.Hottest()) {
    json.BeginObject()
        .Field("kernel", line->kernel)
        .Field("line", line->line)
        .Field("text", line->text)
        .Field("count", line->count)
        .Field("share", lines.ShareOf(*line));
    json.Key("stalls").BeginObject();
    for (const auto& [word, count] : line->MostStalls()) json.Field(word, count);
    json.EndObject().EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace hloscope::app
