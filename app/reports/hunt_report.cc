#include "app/reports/hunt_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/command.h"
#include "app/error_status.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/json.h"

namespace hloscope::app {

using debug::Finding;
using debug::FuzzProgress;
using debug::FuzzReport;

std::string FindingText(const Finding& finding) {
  std::string text = FormatText("{}\n  {}\n", finding.fault, finding.failure);
  text += finding.known.empty() ? std::string("  new")
                                : FormatText("  known: {} ({})", finding.known, finding.page);
  if (!finding.wrong.empty()) text += FormatText("; {} is wrong", finding.wrong);
  text += FormatText("; {} in {}, from {}\n", Counted(finding.instructions, "instruction"),
                     finding.bundle.empty() ? finding.module : finding.bundle, finding.origin);
  return text;
}

std::string FuzzReportJson(const FuzzReport& report) {
  const FuzzProgress& progress = report.progress;
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("programs", progress.programs)
      .Field("differing", progress.differing)
      .Field("faults", report.findings.size())
      .Field("known", report.known)
      .Field("explained", progress.explained)
      .Field("refused", progress.refused)
      .Field("seconds", progress.seconds)
      .Field("stopped", report.stopped)
      .Key("reasons")
      .BeginObject();
  for (const auto& [reason, count] : progress.reasons) json.Field(reason, count);
  json.EndObject().Key("unstable").BeginArray();
  for (const debug::UnstableProgram& program : report.unstable) {
    debug::WriteUnstable(json, program);
  }
  json.EndArray().Key("error");
  if (report.error) {
    json.Value(report.error->ToString());
    WriteErrorKind(json, ErrorKindOf(report.error->error_class));
  } else {
    json.Null();
  }
  json.EndObject();
  return out + "\n";
}

std::string FuzzReportText(const FuzzReport& report) {
  const FuzzProgress& progress = report.progress;
  const auto faults = static_cast<int64_t>(report.findings.size());
  std::string text = FormatText(
      "{} in {:.0f} s: {} {}, {} of them by rounding and the like; {}, {} of them known\n",
      Counted(progress.programs, "program"), progress.seconds, progress.differing,
      VerbFor(progress.differing, "differs", "differ"), progress.explained,
      Counted(faults, "fault"), report.known);
  for (const auto& [reason, count] : progress.reasons) {
    text += FormatText("  {:5} × {}\n", count, reason);
  }
  if (progress.unstable > 0) {
    text +=
        FormatText("  {:5} × programs that fail differently each time, which are not reported\n",
                   progress.unstable);
  }
  for (const debug::UnstableProgram& program : report.unstable) {
    text +=
        FormatText("  {} in {}: {}\n", program.origin, program.module, Join(program.runs, "; "));
  }
  return text;
}

int ExitStatusOf(const FuzzReport& report) {
  if (report.error) return ExitStatusOf(*report.error);
  return report.findings.empty() ? kGood : kDiffers;
}

}  // namespace hloscope::app
