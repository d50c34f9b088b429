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

constexpr int64_t kMostOfConstant = 1 << 16;  // elements that are looked at while the pointer rests
constexpr size_t kMostLeaves = 3;

std::optional<KnownValues> OfConstant(const hlo::Module& read, hlo::InstructionId id) {
  const auto* literal = read.Get<hlo::Literal>(read[id], hlo::AttributeKey::kConstantValue);
  if (literal == nullptr || !literal->shape().IsArray() || literal->elided()) return std::nullopt;
  if (literal->shape().ElementCount().value_or(0) > kMostOfConstant) return std::nullopt;
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
    text += "\n    " + RangeText(values);
  }
  return text;
}

std::string LeafText(const KnownValues& known, size_t leaf, const hlo::Shape& shape) {
  const HeldValues& held = known.held;
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
    text += fmt::format(", {} of {} elements", CountText(finding->mismatched),
                        CountText(finding->elements));
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
    return "values: too many to read while pointing; the panel Values shows them after a run";
  }
  if (context.experiment.running()) return "values: the run has not come to them yet";
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  if (values != nullptr && !values->note.empty()) return values->note;
  if (values != nullptr) {
    return "values: none of its own: it is applied element by element, or was not reached";
  }
  if (context.experiment.runs() > 0) {
    return "values: this stage was not run; choose it in Divergence (Ctrl+4) and run once";
  }
  return "values: run once in Divergence (Ctrl+4, then F9) and they are shown here";
}

}  // namespace

std::optional<KnownValues> KnownValuesOf(Context& context, int32_t module, int32_t stage,
                                         const hlo::Module& read, hlo::InstructionId instruction) {
  if (read[instruction].opcode == hlo::Opcode::kConstant) return OfConstant(read, instruction);
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  // Of another reading of the same dump ids may be others.
  if (values == nullptr || values->module.get() != &read) return std::nullopt;
  std::optional<HeldValues> held = HeldBy(*values, instruction);
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
    text += fmt::format("; the last of {} executions", CountText(known->held.executions));
    if (known->held.executions_with_nan > 0) {
      text += fmt::format(", NaN in {}", CountText(known->held.executions_with_nan));
    }
  }
  const auto leaves = read.shape(instruction).LeafShapes();
  for (size_t i = 0; i < std::min(leaves.size(), kMostLeaves); ++i) {
    if (leaves[i]->IsArray()) text += "\n" + LeafText(*known, i, *leaves[i]);
  }
  if (leaves.size() > kMostLeaves) {
    text += fmt::format("\n… and {} more", leaves.size() - kMostLeaves);
  }
  text += DifferenceText(context, module, stage, instruction);
  return text + "\nShift+V pins them";
}

std::string HoverValuesOfWhole(Context& context, int32_t module, int32_t stage,
                               const hlo::Module& small, hlo::InstructionId instruction) {
  constexpr size_t kMostLookedThrough = 200'000;
  const RunValues* values = context.experiment.ValuesOf(module, stage);
  const bool is_same = values != nullptr && values->module.get() == &small;
  const bool is_constant = small[instruction].opcode == hlo::Opcode::kConstant;
  if (is_same || is_constant || values == nullptr ||
      values->module->instructions().size() > kMostLookedThrough) {
    return HoverValues(context, module, stage, small, instruction);
  }
  const hlo::Module& whole = *values->module;
  for (uint32_t i = 0; i < whole.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (whole.name(id) != small.name(instruction)) continue;
    return "in the whole module: " + HoverValues(context, module, stage, whole, id);
  }
  return "values: the whole module has no instruction of this name";
}

}  // namespace hloscope::viewer
