// Single instructions as JSON and as text.
#include "app/reports/instruction_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/error_status.h"
#include "app/reports/run_report.h"
#include "core/base/format_text.h"
#include "core/base/text.h"

namespace hloscope::app {
namespace {

using debug::InstructionReport;
using debug::LeafComparison;

void Add(debug::OneSided& sum, const debug::OneSided& more) {
  sum.actual += more.actual;
  sum.expected += more.expected;
}

// The worst of all leaves, with the shape of one that differs.
LeafComparison Worst(const InstructionReport& report) {
  LeafComparison worst;
  for (const LeafComparison& leaf : report.outputs) {
    worst.elements += leaf.elements;
    worst.mismatched += leaf.mismatched;
    worst.max_abs_error = std::max(worst.max_abs_error, leaf.max_abs_error);
    worst.max_rel_error = std::max(worst.max_rel_error, leaf.max_rel_error);
    worst.max_ulp = std::max(worst.max_ulp, leaf.max_ulp);
    worst.nan_mismatched += leaf.nan_mismatched;
    worst.inf_mismatched += leaf.inf_mismatched;
    Add(worst.nan, leaf.nan);
    Add(worst.inf, leaf.inf);
    if (worst.elements == leaf.elements || leaf.mismatched > 0) worst.shape = leaf.shape;
  }
  return worst;
}

void WriteFields(JsonWriter& json, const InstructionReport& report) {
  const LeafComparison worst = Worst(report);
  json.Field("instruction", report.instruction)
      .Field("computation", report.computation)
      .Field("opcode", report.opcode)
      .Field("status", StatusOf(report));
  if (report.error) WriteErrorKind(json, ErrorKindOf(report.error->error_class));
  if (report.compared) {
    json.Field("elements", worst.elements)
        .Field("mismatched", worst.mismatched)
        .Field("max_abs_error", worst.max_abs_error)
        .Field("max_rel_error", worst.max_rel_error)
        .Field("max_ulp", worst.max_ulp)
        .Field("nan_mismatched", worst.nan_mismatched)
        .Field("inf_mismatched", worst.inf_mismatched);
  }
  json.Key("outputs").BeginArray();
  for (const LeafComparison& leaf : report.outputs) {
    json.BeginObject();
    WriteLeafJson(json, leaf, report.compared);
    json.EndObject();
  }
  json.EndArray().Field("run_us", report.run_us);
  if (!report.source.empty()) json.Field("source", report.source);
  if (!report.kernels.empty()) json.Field("kernels", report.kernels);
  if (!report.path.empty()) json.Field("path", report.path);
  if (!report.together_with.empty()) {
    json.Key("together_with").BeginArray();
    for (const std::string& name : report.together_with) json.Value(name);
    json.EndArray();
  }
  json.Key("error");
  if (report.error) {
    json.Value(report.error->ToString());
  } else {
    json.Null();
  }
}

}  // namespace

std::string_view StatusOf(const InstructionReport& report) {
  if (report.error) return ToString(debug::StatusOf(*report.error));
  if (!report.compared) return "ran";
  return report.differs() ? "differs" : "equal";
}

std::string InstructionReportJson(const std::string& file, const InstructionReport& report) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("module", file);
  WriteFields(json, report);
  json.EndObject();
  return out + "\n";
}

void WriteDivergentJson(JsonWriter& json, const InstructionReport& report) {
  json.BeginObject();
  WriteFields(json, report);
  json.EndObject();
}

std::string InstructionReportText(const InstructionReport& report) {
  std::string status(StatusOf(report));
  const auto kind = report.error ? ErrorKindText(report.error->error_class) : std::string_view();
  if (!kind.empty()) status += FormatText(" ({})", kind);
  std::string text = FormatText("{:<12} {} ({})", status, report.instruction, report.opcode);
  if (!report.together_with.empty()) {
    text += FormatText(" together with {}", Join(report.together_with, ", "));
  }
  if (!report.path.empty()) text += FormatText(" in {}", report.path);
  if (report.error) return text + FormatText(": {}\n", report.error->ToString());
  if (!report.compared) return text + "\n";
  const LeafComparison worst = Worst(report);
  if (worst.max_abs_error == 0 && worst.mismatched == 0) return text + "\n";
  return text + ": " + MatchText(worst) + ErrorsText(worst) + "\n";
}

}  // namespace hloscope::app
