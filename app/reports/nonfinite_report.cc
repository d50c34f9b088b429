// The origin of a NaN or an infinity as JSON and as text.
#include "app/reports/nonfinite_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/format_text.h"
#include "core/base/text.h"
#include "core/hlo/index_text.h"

namespace hloscope::app {
namespace {

using debug::NonFinite;
using debug::OperandReport;
using debug::PathStep;

void WriteIndex(JsonWriter& json, std::string_view key, const std::vector<int64_t>& index) {
  json.Key(key).BeginArray();
  for (int64_t i : index) json.Value(i);
  json.EndArray();
}

void WriteOperand(JsonWriter& json, const OperandReport& operand) {
  json.BeginObject().Field("instruction", operand.instruction).Field("shape", operand.shape);
  if (operand.value) json.Field("value", *operand.value);
  if (operand.range) {
    json.Field("smallest", operand.range->low).Field("largest", operand.range->high);
  }
  json.EndObject();
}

std::string OperandText(const OperandReport& operand) {
  std::string text = "    operand " + operand.instruction + " " + operand.shape;
  if (operand.value) text += FormatText(", {} at that element", *operand.value);
  if (operand.range) {
    text += FormatText(", range {} to {}", ShortestText(operand.range->low),
                       ShortestText(operand.range->high));
  }
  return text + "\n";
}

}  // namespace

void WriteNonFiniteJson(JsonWriter& json, const NonFinite& found) {
  json.BeginObject()
      .Field("instruction", found.instruction)
      .Field("computation", found.computation)
      .Field("opcode", found.opcode)
      .Field("shape", found.shape)
      .Field("on_arrival", found.on_arrival)
      .Field("device", found.device)
      .Key("path")
      .BeginArray();
  for (const PathStep& step : found.path) {
    json.BeginObject()
        .Field("instruction", step.instruction)
        .Field("computation", step.computation)
        .Field("opcode", step.opcode);
    if (step.iteration) json.Field("iteration", *step.iteration);
    json.EndObject();
  }
  json.EndArray();
  WriteIndex(json, "leaf", found.leaf);
  WriteIndex(json, "index", found.index);
  json.Field("value", found.value).Key("operands").BeginArray();
  for (const OperandReport& operand : found.operands) WriteOperand(json, operand);
  json.EndArray().Field("reaches_output", found.reaches_output).Key("infinity_from");
  found.infinity_from ? json.Value(*found.infinity_from) : json.Null();
  json.Key("source");
  found.source.empty() ? json.Null() : json.Value(found.source);
  json.EndObject();
}

std::string NonFiniteText(const NonFinite& found) {
  const bool nan = found.kind == debug::NonFiniteKind::kNan;
  std::string text =
      FormatText("  first {}: {} ({}) {} in computation {}, element {} is {}\n",
                 nan ? "NaN" : "infinity", found.instruction, found.opcode, found.shape,
                 found.computation, hlo::ArrayIndexText(found.index), found.value);
  for (auto step = found.path.rbegin(); step != found.path.rend(); ++step) {
    text += FormatText("    called by {} ({}) in {}", step->instruction, step->opcode,
                       step->computation);
    text += step->iteration ? FormatText(", iteration {}\n", *step->iteration) : "\n";
  }
  for (const OperandReport& operand : found.operands) text += OperandText(operand);
  if (found.infinity_from) {
    text += FormatText("    the infinity came from {}\n", *found.infinity_from);
  }
  if (!found.source.empty()) text += FormatText("    source line {}\n", found.source);
  if (found.on_arrival)
    return text + "    it is in an input or a constant; no instruction produces one\n";
  return text + (found.reaches_output ? "    it reaches an output\n"
                                      : "    it does not reach an output\n");
}

std::string NoNonFiniteText(debug::NonFiniteKind kind, bool arrive) {
  const bool is_nan = kind == debug::NonFiniteKind::kNan;
  if (!arrive) return is_nan ? "no NaN was found" : "no infinity was found";
  return is_nan ? "no instruction produces a NaN from operands without one"
                : "no instruction produces an infinity from finite operands";
}

}  // namespace hloscope::app
