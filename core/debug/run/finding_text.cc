// One sentence for the kernel, one for each access.
#include "core/debug/run/finding_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/counted.h"

namespace hloscope::debug {

std::string HeadText(const replay::RunFinding& finding) {
  std::string out = fmt::format("{} in {}", finding.kind, finding.instruction);
  if (!finding.kernel.empty()) out += ", kernel " + finding.kernel;
  if (!finding.memory.empty()) out += fmt::format(", byte {} of {}", finding.byte, finding.memory);
  if (finding.count > 1) out += fmt::format(", {}", Counted(finding.count, "time"));
  return out;
}

std::string SideText(const replay::RunFinding::Side& side) {
  return fmt::format("{}:{}:{}: `{}` of block ({}), thread ({})", side.file, side.line, side.column,
                     side.form, fmt::join(side.block, ", "), fmt::join(side.thread, ", "));
}

std::string FindingText(const replay::RunFinding& finding, std::string_view indent) {
  std::string out = std::string(indent) + HeadText(finding);
  if (!finding.at) return out + ": " + finding.what + "\n";
  out += fmt::format("\n{}  {} {}\n", indent, SideText(*finding.at), finding.what);
  if (finding.other) out += fmt::format("{}  the other: {}\n", indent, SideText(*finding.other));
  return out;
}

}  // namespace hloscope::debug
