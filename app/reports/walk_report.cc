// Printing the walk through the values of a module.
#include "app/reports/walk_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

using debug::PreciseDistance;
using debug::ValueWalk;
using debug::WalkPoint;

constexpr size_t kLines = 12;  // of the curve

std::string DistanceText(const std::string& side, const std::optional<PreciseDistance>& distance) {
  if (!distance) return {};
  std::string out = FormatText("    {:<16} {:.3g} ULP from the value in double precision", side,
                               distance->max_ulp);
  if (distance->class_mismatched > 0) {
    out += FormatText(", {} NaN or infinite on one side", distance->class_mismatched);
  }
  return out + "\n";
}

std::string PointText(const WalkPoint& point) {
  std::string out = FormatText("    {:<32} {:.3g} absolute, {:.3g} relative", point.instruction,
                               point.max_abs_error, point.max_rel_error);
  if (point.diverging > 0) {
    out += FormatText(", {} of {} beyond the bounds", point.diverging, point.executions);
  }
  return out + "\n";
}

}  // namespace

std::string WalkText(const debug::DivergeVerdict& verdict) {
  if (!verdict.walk) return {};
  const ValueWalk& walk = *verdict.walk;
  std::string out = FormatText("  {} at {} compared: ", Counted(walk.compared, "value"),
                               Counted(walk.boundaries, "boundary", "boundaries"));
  if (!walk.one_at_a_time) out += FormatText("{} bit-identical, ", walk.same_bits);
  // Values inside may differ by more than results may, and cancel out.
  const bool is_inside = walk.diverging > 0 && verdict.status == debug::RunStatus::kEqual;
  out += FormatText("{} beyond the bounds{}\n", walk.diverging,
                    is_inside ? ", none of them a result" : "");
  if (walk.left_out > 0) {
    out += FormatText("  {} after the first divergence {} not compared\n",
                      Counted(walk.left_out, "value"), VerbFor(walk.left_out, "was", "were"));
  }
  if (walk.too_large > 0) {
    out += FormatText("  {} in some bit and {} too large to be kept: not compared\n",
                      Counted(walk.too_large, "value differs", "values differ"),
                      VerbFor(walk.too_large, "is", "are"));
  }
  out += FormatText("  {}\n", walk.bits);
  if (walk.inner) {
    out += FormatText("  inside, {} ({}) differs on its own: {}\n", walk.inner->instruction,
                      walk.inner->opcode, ErrorPhrase(walk.inner->comparison));
  }
  if (walk.platform_distance) {
    out += "  on its recorded operands:\n";
    out += DistanceText(verdict.platform, walk.platform_distance);
    out += DistanceText(verdict.reference, walk.reference_distance);
  }
  if (!walk.reached.empty()) {
    out += FormatText("  results that differ: out{}\n", Join(walk.reached, ", out"));
  }
  if (!walk.curve.empty()) out += "  largest errors, in program order:\n";
  for (size_t i = 0; i < std::min(walk.curve.size(), kLines); ++i) {
    out += PointText(walk.curve[i]);
  }
  if (walk.curve.size() > kLines) {
    out += FormatText("    and {} more; --json has all\n", walk.curve.size() - kLines);
  }
  return out;
}

}  // namespace hloscope::app
