// Values as lines of text.
#include "viewer/lab/hover_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/analysis/call_graph.h"
#include "core/replay/platform_table.h"
#include "viewer/model/experiment.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

constexpr int64_t kMaxOfConstant = 1 << 16;  // elements that are looked at while the pointer rests
constexpr size_t kMaxLeaves = 3;

std::optional<KnownValues> OfConstant(const hlo::Module& read, hlo::InstructionId id) {
  const auto* literal = read.Get<hlo::Literal>(read[id], hlo::AttributeKey::kConstantValue);
  if (literal == nullptr || !literal->shape().IsArray() || literal->elided()) return std::nullopt;
  if (literal->shape().ElementCount().value_or(0) > kMaxOfConstant) return std::nullopt;
  return KnownValues{.held = {.platform = {}, .reference = DescribeLeaves(*literal)},
                     .platform = "",
                     .reference = "the file",
                     .inputs = ""};
}

// "interpreter: 1, 2, …\n  1 to 2, mean 1.5".
std::string SideText(std::string_view side, const replay::ValueStatistics& values,
                     const hlo::Shape& shape) {
  std::string text = fmt::format("{}: {}", side, FirstElementsText(values, shape.element_type()));
  if (values.elements != 1 || values.nans + values.infinities > 0) {
    text += "\n    " + RangeText(values, shape.element_type());
  }
  return text;
}

std::string LeafText(const KnownValues& known, size_t leaf, const hlo::Shape& shape) {
  const CapturedValues& held = known.held;
  std::string text = hlo::ToString(shape, false);
  if (leaf < held.platform.size()) {
    text += "\n  " + SideText(known.platform, held.platform[leaf], shape);
  }
  if (leaf < held.reference.size()) {
    text += "\n  " + SideText(known.reference, held.reference[leaf], shape);
  }
  return text;
}

std::string DifferenceText(const Context& context, int32_t module, int32_t stage,
                           hlo::InstructionId id) {
  const Experiment& experiment = context.experiment;
  const ExperimentRequest& request = experiment.request();
  if (request.module_index != module || request.stage != stage) return {};
  const Finding* finding = experiment.Of(id);
  if (finding == nullptr || !IsCompared(finding->verdict)) return {};
  std::string text = "\n" + std::string(ToString(finding->verdict));
  if (finding->mismatched > 0) {
    text += fmt::format(", {} of {}", CountText(finding->mismatched),
                        CountedText(finding->elements, "element"));
  }
  if (finding->max_abs_error > 0) {
    text +=
        fmt::format(": largest error {}, relative {}, {} ULP", ErrorText(finding->max_abs_error),
                    ErrorText(finding->max_rel_error), UlpText(finding->max_ulp));
  }
  return text;
}

// Why there are none, and how to get them.
std::string WhyNone(Context& context, int32_t module, int32_t stage, const hlo::Module& read,
                    hlo::InstructionId id) {
  if (read[id].opcode == hlo::Opcode::kConstant) {
    return "values: too many for a tooltip; see the panel Values after a run";
  }
  if (context.experiment.running()) return "values: not computed yet";
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  if (values != nullptr && !values->note.empty()) return values->note;
  if (values != nullptr) {
    return "values: none (inside a scalar computation, or not executed)";
  }
  if (context.experiment.runs() > 0) {
    return "values: this stage has not run; select it in Divergence (Ctrl+4)";
  }
  return "values: shown after a run (Ctrl+4, F9)";
}

}  // namespace

std::optional<KnownValues> KnownValuesOf(Context& context, int32_t module, int32_t stage,
                                         const hlo::Module& read, hlo::InstructionId instruction) {
  if (read[instruction].opcode == hlo::Opcode::kConstant) return OfConstant(read, instruction);
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  // Of another reading of the same dump ids may be others.
  if (values == nullptr || values->module.get() != &read) return std::nullopt;
  std::optional<CapturedValues> held = FindCapturedValues(*values, instruction);
  if (!held) return std::nullopt;
  KnownValues known{.held = *std::move(held),
                    .platform = values->platform,
                    .reference = values->reference,
                    .inputs = values->inputs,
                    .run = values->number};
  if (known.held.is_evaluated) known.reference = replay::ReferencePlatform().name;
  return known;
}

std::string HoverValues(Context& context, int32_t module, int32_t stage, const hlo::Module& read,
                        hlo::InstructionId instruction) {
  if (!instruction.valid() || instruction.index >= read.instructions().size()) return {};
  const auto known = KnownValuesOf(context, module, stage, read, instruction);
  if (!known) return WhyNone(context, module, stage, read, instruction);
  std::string text = "values";
  if (!known->inputs.empty()) text += " of the last run, " + known->inputs;
  if (known->held.executions > 1) {
    text += fmt::format("; the last of {}", CountedText(known->held.executions, "execution"));
    if (known->held.executions_with_nan > 0) {
      text += fmt::format(", NaN in {}", CountText(known->held.executions_with_nan));
    }
  }
  const auto leaves = read.shape(instruction).LeafShapes();
  for (size_t i = 0; i < std::min(leaves.size(), kMaxLeaves); ++i) {
    if (leaves[i]->IsArray()) text += "\n" + LeafText(*known, i, *leaves[i]);
  }
  if (leaves.size() > kMaxLeaves) {
    text += fmt::format("\n… and {} more", leaves.size() - kMaxLeaves);
  }
  text += DifferenceText(context, module, stage, instruction);
  return text + "\nShift+V: pin";
}

std::string HoverValuesOfWhole(Context& context, int32_t module, int32_t stage,
                               const hlo::Module& small, hlo::InstructionId instruction) {
  constexpr size_t kMaxLookedThrough = 200'000;
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  const bool is_same = values != nullptr && values->module.get() == &small;
  const bool is_constant = small[instruction].opcode == hlo::Opcode::kConstant;
  if (is_same || is_constant || values == nullptr ||
      values->module->instructions().size() > kMaxLookedThrough) {
    return HoverValues(context, module, stage, small, instruction);
  }
  const hlo::Module& whole = *values->module;
  for (uint32_t i = 0; i < whole.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (whole.name(id) != small.name(instruction)) continue;
    return "in the original module: " + HoverValues(context, module, stage, whole, id);
  }
  return "values: no instruction of this name in the original module";
}

}  // namespace hloscope::viewer
