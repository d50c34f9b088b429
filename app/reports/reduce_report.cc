#include "app/reports/reduce_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command.h"
#include "app/error_status.h"
#include "app/output.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {

using debug::ReduceReport;
using debug::ReduceStatus;

namespace {

void TextOrNull(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  text.empty() ? static_cast<void>(json.Null()) : static_cast<void>(json.Value(text));
}

}  // namespace

std::string ReduceReportJson(const ReduceFiles& files, const ReduceReport& report) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("module", files.module)
      .Field("status", ToString(report.status))
      .Key("failure");
  if (report.failure) {
    json.BeginObject()
        .Field("kind", ToString(report.failure->kind))
        .Field("fingerprint", report.failure->fingerprint())
        .Field("text", report.failure->text)
        .EndObject();
  } else {
    json.Null();
  }
  json.Field("instructions_before", report.instructions_before)
      .Field("instructions", report.instructions)
      .Field("seconds", report.seconds)
      .Field("tries", report.tries)
      .Field("timed_out", report.timed_out)
      .Field("stopped", report.stopped);
  TextOrNull(json, "platform", report.platform);
  TextOrNull(json, "reference", report.reference_platform);
  TextOrNull(json, "output", files.output);
  TextOrNull(json, "inputs", files.inputs);
  TextOrNull(json, "command", files.command);
  json.Key("warnings").BeginArray();
  for (const std::string& note : report.notes) json.Value(note);
  json.EndArray();
  TextOrNull(json, "error", report.error ? report.error->ToString() : "");
  if (report.error) WriteErrorKind(json, ErrorKindOf(report.error->error_class));
  json.EndObject();
  return out + "\n";
}

std::string ReduceReportText(const ReduceFiles& files, const ReduceReport& report) {
  if (report.status == ReduceStatus::kError) return "";
  if (report.status == ReduceStatus::kNotFailing) {
    std::string text = FormatText("{}: does not fail", files.module);
    if (!report.platform.empty()) text += FormatText(" on {}", report.platform);
    if (!report.reference_platform.empty())
      text += FormatText(" against {}", report.reference_platform);
    text += "\n";
    for (const std::string& note : report.notes) text += FormatText("note: {}\n", note);
    return text;
  }
  std::string text = FormatText(
      "{}: {} of {}, {}, {:.1f} s{}\n", files.output, Counted(report.instructions, "instruction"),
      report.instructions_before, Counted(static_cast<size_t>(report.tries), "try", "tries"),
      report.seconds, report.stopped ? " (stopped: the smallest so far)" : "");
  // Classes of what was found are for people; a text without its names and numbers is not.
  // A class of a NaN or an infinity says already which of them it is.
  const debug::Failure& failure = *report.failure;
  const std::string found = failure.kind == debug::FailureKind::kNan
                                ? fmt::format("{}", fmt::join(failure.classes, "; "))
                                : failure.fingerprint();
  text += FormatText("fails with {}\n  {}\n",
                     found.contains('#') ? std::string(ToString(failure.kind)) : found,
                     OwnLines(MessageLines(failure.text)));
  for (const std::string& note : report.notes) text += FormatText("note: {}\n", note);
  if (!files.inputs.empty()) text += FormatText("inputs: {}\n", files.inputs);
  if (!files.command.empty()) text += FormatText("run it with\n  {}\n", files.command);
  return text;
}

int ExitStatusOf(const ReduceReport& report) {
  if (report.error) return ExitStatusOf(*report.error);
  return report.status == ReduceStatus::kNotFailing ? kDiffers : kGood;
}

}  // namespace hloscope::app
