#include "app/reports/kernel_finding_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/debug/run/finding_text.h"
#include "core/hlo/index_text.h"

namespace hloscope::app {
namespace {

constexpr size_t kSliceSteps = 32;  // of the slice; JSON has them all
constexpr size_t kFirstLines = 5;

std::string SliceStepText(const debug::KernelLine& line) {
  std::string out = FormatText("    thread {:<4} line {:<5} {} {:<48} {}", line.thread, line.line,
                               line.control ? '?' : ' ', line.text, line.values);
  if (!line.instruction.empty()) {
    out += FormatText("   {} {}", line.same_bits ? "=" : "≈", line.instruction);
  }
  if (!line.kernel.empty()) out += FormatText("   in {}", line.kernel);
  return out + "\n";
}

// The first of them, each with the reason.
std::string FirstLines(const std::vector<debug::LookFirst>& lines) {
  std::string out;
  for (size_t i = 0; i < std::min(lines.size(), kFirstLines); ++i) {
    const debug::LookFirst& first = lines[i];
    out += FormatText("      {}:{} `{}`: {}\n", first.file, first.line, first.text, first.why);
  }
  return out;
}

}  // namespace

std::string KernelFindingText(const debug::KernelFinding& finding) {
  std::string out = FormatText(
      "  {}, each on its recorded operands: {} bit-identical to the evaluator, {} within the "
      "bounds, {} beyond\n",
      Counted(finding.same_bits + finding.within_bounds + finding.differing, "kernel"),
      finding.same_bits, finding.within_bounds, finding.differing);
  if (finding.kernel.empty()) return out;
  out += FormatText("  kernel {}{}\n", finding.kernel,
                    finding.source.empty() ? "" : FormatText(", from {}", finding.source));
  if (!finding.value.empty()) {
    out += FormatText("    element {} is {}, expected {}\n", hlo::ArrayIndexText(finding.index),
                      finding.value, finding.expected);
  }
  if (!finding.patterns.empty()) out += FormatText("    {}\n", Join(finding.patterns, "; "));
  if (finding.line > 0) {
    out += FormatText("    stored by block ({}), thread ({}) at {}:{}\n", Join(finding.block, ", "),
                      Join(finding.thread, ", "), finding.file, finding.line);
  }
  if (finding.stores == 0 && !finding.slice.empty()) {
    out += FormatText(
        "    no thread stores it; the nearest store in {} is of block ({}), thread ({}): its slice "
        "follows\n",
        finding.file, Join(finding.block, ", "), Join(finding.thread, ", "));
  }
  if (finding.reference_checked > 0) {
    out += finding.reference_agrees
               ? FormatText(
                     "    the scalar reference of the simulated GPU gave the same bits "
                     "({} thread instructions)\n",
                     finding.reference_checked)
               : FormatText(
                     "    the scalar reference of the simulated GPU does not confirm it: "
                     "{}\n",
                     finding.reference_difference);
  }
  for (const replay::RunFinding& found : finding.checks) out += debug::FindingText(found, "    ");
  if (finding.slice.empty()) return out;
  const size_t first = finding.slice.size() > kSliceSteps ? finding.slice.size() - kSliceSteps : 0;
  out += FormatText(
      "    where to look first:\n{}"
      "    what it comes from ({}{}; ?: what decides that a step is done, or which value reaches "
      "it; "
      "= and ≈: the fused instruction that has the value, bit for bit or nearly):\n",
      OwnLines(FirstLines(finding.look_first)),
      first > 0 ? FormatText("the last {} of ", kSliceSteps) : "",
      Counted(static_cast<int64_t>(finding.slice.size()), "step"));
  for (size_t i = first; i < finding.slice.size(); ++i) out += SliceStepText(finding.slice[i]);
  return out;
}

}  // namespace hloscope::app
