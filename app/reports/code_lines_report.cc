// Runs of lines with one reason.
#include "app/reports/code_lines_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

struct Run {
  int32_t file = -1;
  analysis::CodeLine first;
  int32_t last_line = 0;
};

std::vector<Run> RunsOf(const std::vector<analysis::InstructionCode>& codes) {
  std::vector<Run> runs;
  for (const analysis::InstructionCode& code : codes) {
    for (const analysis::CodeLine& line : code.lines) {
      bool joins = !runs.empty() && runs.back().file == code.file &&
                   runs.back().last_line + 1 == line.line &&
                   runs.back().first.reason == line.reason;
      if (joins) {
        runs.back().last_line = line.line;
      } else {
        runs.push_back({code.file, line, line.line});
      }
    }
  }
  return runs;
}

// Empty where lines are known, or there is no code.
std::string WhyUnknown(const std::vector<analysis::InstructionCode>& codes) {
  bool names = false, debug_info = false;
  for (const analysis::InstructionCode& code : codes) {
    if (!code.lines.empty()) return {};
    names |= code.signs.value_names;
    debug_info |= code.signs.debug_info;
  }
  if (codes.empty()) return {};
  if (debug_info) return "the debug information has no entry for its source line";
  if (names) return "no value in the code is named after this instruction";
  return "the code has neither debug information nor instruction names";
}

const std::string& PathOf(const dump::DumpModel& model, int32_t file) {
  return model.files()[static_cast<size_t>(file)].path;
}

}  // namespace

std::string CodeLinesText(const dump::DumpModel& model,
                          const std::vector<analysis::InstructionCode>& codes) {
  std::string out;
  for (const Run& run : RunsOf(codes)) {
    std::string last = run.last_line == run.first.line ? "" : "-" + std::to_string(run.last_line);
    out += FormatText("    lines  {}:{}{} {:.2f} ({})\n", PathOf(model, run.file), run.first.line,
                      last, run.first.confidence, Describe(run.first.reason));
  }
  std::string why = WhyUnknown(codes);
  if (!why.empty()) out += FormatText("    lines  unknown: {}\n", why);
  return out;
}

void WriteCodeLines(const dump::DumpModel& model,
                    const std::vector<analysis::InstructionCode>& codes, JsonWriter& json) {
  json.Key("lines").BeginArray();
  for (const Run& run : RunsOf(codes)) {
    json.BeginObject().Field("file", PathOf(model, run.file));
    json.Field("first_line", run.first.line).Field("last_line", run.last_line);
    json.Field("reason", KeyOf(run.first.reason));
    json.Field("confidence", run.first.confidence).EndObject();
  }
  json.EndArray().Key("lines_unknown");
  std::string why = WhyUnknown(codes);
  why.empty() ? json.Null() : json.Value(why);
}

}  // namespace hloscope::app
