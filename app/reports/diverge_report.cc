#include "app/reports/diverge_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/output.h"
#include "app/reports/kernel_finding_report.h"
#include "app/reports/walk_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

using debug::DivergeFinding;
using debug::DivergeTry;
using debug::DivergeVerdict;
using debug::InstructionEdit;
using debug::PassBlame;
using debug::RunStatus;

std::string TryText(const DivergeTry& attempt, RunStatus status) {
  const bool agrees = attempt.is_comparison || status == RunStatus::kEqual;
  const char* const closed = agrees ? "agrees" : "explains it";
  const char* const open = attempt.is_comparison ? "differs" : "no";
  const char* const closes = !attempt.closes ? "not run" : *attempt.closes ? closed : open;
  if (attempt.detail.empty()) return FormatText("    {:<56} {}\n", attempt.what, closes);
  return FormatText("    {:<56} {}; {}\n", attempt.what, closes, attempt.detail);
}

std::string TriesText(const std::vector<DivergeTry>& tries, const std::string& judged,
                      RunStatus status) {
  if (tries.empty()) return {};
  std::string out = judged.empty() ? "  tried:\n" : FormatText("  tried, judged by {}:\n", judged);
  for (const DivergeTry& attempt : tries) out += TryText(attempt, status);
  return out;
}

// Of each finding that has results of its own; of a second one within them the first's say it.
std::string AllTriesText(const DivergeVerdict& verdict) {
  const std::vector<DivergeFinding>& findings = verdict.findings;
  std::string out =
      TriesText(verdict.tries, findings.empty() ? "" : JudgedResults(verdict, findings.front()),
                verdict.status);
  for (size_t i = 1; i < findings.size(); ++i) {
    const std::string judged = JudgedResults(verdict, findings[i]);
    if (!judged.empty()) out += TriesText(findings[i].tries, judged, verdict.status);
  }
  return out;
}

std::string EditText(const InstructionEdit& edit) {
  std::string out;
  if (!edit.before.empty()) out += FormatText("  - {}\n", edit.before);
  if (!edit.after.empty()) out += FormatText("  + {}\n", edit.after);
  return out;
}

std::string PassesText(const DivergeVerdict& verdict) {
  std::string out;
  for (const PassBlame& blame : verdict.passes) {
    if (blame.file_after.empty()) continue;  // it failed, as the sentence says
    out +=
        FormatText("  {}{}: {}\n    from {}\n    to   {}\n", blame.pass,
                   blame.restores ? " (hides it again)" : "",
                   blame.within_bounds ? OtherValuesPhrase(blame.worst) : ErrorPhrase(blame.worst),
                   blame.file_before, blame.file_after);
  }
  return out;
}

// The first few; JSON has them all.
std::string FirstText(std::string_view prefix, const std::vector<std::string>& texts) {
  constexpr size_t kMax = 5;
  std::string out;
  for (size_t i = 0; i < std::min(kMax, texts.size()); ++i) {
    out += FormatText("  {}{}\n", prefix, texts[i]);
  }
  if (texts.size() > kMax) out += FormatText("  … and {} more\n", texts.size() - kMax);
  return out;
}

}  // namespace

std::string DivergeReportText(const std::vector<std::string>& files,
                              const DivergeVerdict& verdict) {
  std::string out =
      FormatText("{}: {}\n", Join(files, " against "), OwnLines(MessageLines(verdict.sentence)));
  out += EditText(verdict.edit) + PassesText(verdict) + WalkText(verdict);
  if (verdict.operations) out += FirstText("", verdict.operations->texts);
  if (verdict.finding) out += KernelFindingText(*verdict.finding);
  out += AllTriesText(verdict);
  if (!verdict.kernel.empty()) out += FormatText("  in the compiled module: {}\n", verdict.kernel);
  if (verdict.stages > 0) {
    out += FormatText("  {}, {} of {} compared, {} evaluated\n", Counted(verdict.stages, "stage"),
                      verdict.compared, verdict.to_compare, verdict.evaluated);
  }
  out += FirstText("stepped over ", verdict.stepped_over);
  for (const std::string& text : verdict.warnings) out += FormatText("  warning: {}\n", text);
  return out;
}

}  // namespace hloscope::app
