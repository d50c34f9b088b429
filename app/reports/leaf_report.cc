#include "app/reports/leaf_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/text.h"
#include "core/hlo/index_text.h"

namespace hloscope::app {

using debug::LeafComparison;
using debug::RunOutput;
using debug::RunReport;

namespace {

// "           relative errors: 5 below 1e-7, 3 below 1e-6 …", leaving out what does not occur.
// The last class holds those that are no number, too.
std::string HistogramText(const debug::ErrorHistogram& histogram, int64_t not_finite) {
  std::string text;
  const auto& bounds = debug::ErrorHistogram::kBounds;
  for (const auto& [key, counts] :
       {std::pair("absolute", &histogram.absolute), std::pair("relative", &histogram.relative)}) {
    text += FormatText("{}           {} errors:", text.empty() ? "" : "\n", key);
    for (size_t k = 0; k < counts->size(); ++k) {
      const int64_t count = (*counts)[k] - (k + 1 == counts->size() ? not_finite : 0);
      if (count <= 0) continue;
      text += FormatText(" {} {}", count,
                         k == 0 ? "zero,"
                         : k - 1 < bounds.size()
                             ? FormatText("below {},", ShortestText(bounds[k - 1]))
                             : FormatText("at least {},", ShortestText(bounds.back())));
    }
    if (not_finite > 0) text += FormatText(" {} NaN or infinite", not_finite);
    if (text.ends_with(',')) text.pop_back();
  }
  return text;
}

std::string MismatchText(const debug::ElementMismatch& mismatch) {
  return FormatText("{}: {}, expected {}", hlo::ArrayIndexText(mismatch.index), mismatch.actual,
                    mismatch.expected);
}

std::string LargestErrorText(const LeafComparison& leaf) {
  const hlo::ElementType type = leaf.shape.element_type();
  std::string text = FormatText("; largest error {:.3g} absolute, {:.3g} relative",
                                leaf.max_abs_error, leaf.max_rel_error);
  const bool has_ulp = hlo::IsFloat(type) || hlo::IsComplex(type);
  return has_ulp ? text + FormatText(", {} ULP", leaf.max_ulp) : text;
}

bool HasError(const LeafComparison& leaf) {
  return leaf.max_abs_error > 0 || leaf.max_rel_error > 0 || leaf.max_ulp > 0;
}

// A bound in three digits that is no smaller: what passes with the exact one passes with it.
std::string BoundText(double bound) {
  std::string text = FormatText("{:.2e}", bound);
  if (!std::isfinite(bound) || bound == 0) return ShortestText(bound);
  double shown = std::strtod(text.c_str(), nullptr);
  if (shown < bound) {
    const size_t exponent = text.find('e');
    const double more = std::strtod(text.substr(0, exponent).c_str(), nullptr) + 0.01;
    text = FormatText("{:.2f}{}", more, text.substr(exponent));
    shown = std::strtod(text.c_str(), nullptr);
  }
  return FormatText("{:g}", shown);
}

// Inputs that are generated are others in each iteration: the expected values are of the first.
bool IsOtherOfFirst(const RunOutput& output, const RunReport& report) {
  return output.other && report.generated_inputs && output.iteration != 0;
}

}  // namespace

std::string MatchText(const LeafComparison& leaf) {
  if (leaf.mismatched > 0) {
    return FormatText("{} of {} {}", leaf.mismatched, leaf.elements,
                      VerbFor(leaf.mismatched, "differs", "differ"));
  }
  if (leaf.elements == 0) return "no elements";
  const std::string what = HasError(leaf) ? "within the bounds" : "equal";
  return leaf.elements == 1 ? what : FormatText("all {} {}", leaf.elements, what);
}

std::string ErrorsText(const LeafComparison& leaf) {
  std::string text;
  const int64_t nonfinite = leaf.nan_mismatched + leaf.inf_mismatched;
  const bool is_of_finite = leaf.mismatched > nonfinite || leaf.max_abs_error > 0;
  if (is_of_finite || (leaf.mismatched == 0 && HasError(leaf))) text = LargestErrorText(leaf);
  const auto add = [&text](int64_t count, std::string_view what) {
    if (count > 0) text += FormatText("{} {} {}", text.empty() ? ";" : ",", count, what);
  };
  const auto one_sided = [&](std::string_view what, const debug::OneSided& count) {
    add(count.total(),
        FormatText("{} on one side (actual {}, expected {})", what, count.actual, count.expected));
  };
  one_sided("NaN", leaf.nan);
  one_sided("infinite", leaf.inf);
  add(leaf.inf_mismatched - leaf.inf.total(), "infinite with opposite signs");
  return text;
}

std::string LeafText(const LeafComparison& leaf, bool compared, std::string_view why_not) {
  std::string text = FormatText("  {:<8} {:<24}", hlo::ShapeIndexText(leaf.index),
                                hlo::ToString(leaf.shape, false));
  if (!compared) {
    return text + " " + Counted(leaf.elements, "element") +
           (why_not.empty() ? ", no reference" : FormatText(", not compared: {}", why_not));
  }
  if (!leaf.problem.empty()) return text + FormatText(" {}", leaf.problem);
  text += " " + MatchText(leaf) + ErrorsText(leaf);
  if (!leaf.first_mismatch) return text;
  text += FormatText("; first at {}", MismatchText(*leaf.first_mismatch));
  if (leaf.worst_mismatch && leaf.worst_mismatch->index != leaf.first_mismatch->index) {
    text += FormatText("; worst at {}", MismatchText(*leaf.worst_mismatch));
  }
  text += "\n" + HistogramText(leaf.histogram, leaf.nan_mismatched + leaf.inf_mismatched);
  if (!leaf.passing_bounds.empty()) {
    text += "\n           would pass with bounds";
    for (const debug::BoundPair& pair : leaf.passing_bounds) {
      text += FormatText(" abs {} rel {};", BoundText(pair.absolute), BoundText(pair.relative));
    }
    text.pop_back();
  }
  return text;
}

bool HasTwoComparisons(const RunReport& report) {
  return std::ranges::any_of(report.outputs,
                             [](const RunOutput& output) { return output.other.has_value(); });
}

std::string OtherText(const RunOutput& output, const RunReport& report) {
  const std::string_view other_side = debug::OtherSide(output, report.reference);
  const std::string head =
      FormatText("           that is against {}; ", debug::SideName(output.against));
  if (!output.other) {
    if (output.against.empty() || output.not_compared.empty()) return {};
    return head + FormatText("not compared with {}: {}\n", debug::SideName(other_side),
                             output.not_compared);
  }
  const debug::LeafComparison& other = *output.other;
  return head +
         FormatText("against {}{}: {}\n", debug::SideName(other_side),
                    IsOtherOfFirst(output, report) ? " in the first iteration" : "",
                    other.problem.empty() ? MatchText(other) + ErrorsText(other) : other.problem);
}

void WriteOtherJson(JsonWriter& json, const RunOutput& output, const RunReport& report) {
  if (!output.against.empty()) json.Field("against", output.against);
  if (!output.other) return;
  json.Key("other").BeginObject();
  json.Field("against", debug::OtherSide(output, report.reference));
  debug::WriteLeafJson(json, *output.other, true);
  if (IsOtherOfFirst(output, report)) json.Field("iteration", 0);
  json.EndObject();
}

}  // namespace hloscope::app
