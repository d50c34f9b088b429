#include "viewer/divergence/nonfinite_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <utility>

#include "viewer/model/navigation.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

// Invalid: there is none.
hlo::InstructionId Named(const hlo::Module& module, std::string_view name,
                         std::string_view computation) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    if (module.name(id) == name &&
        (computation.empty() || module[module[module[id].computation].name] == computation))
      return id;
  }
  return {};
}

void SelectNamed(Context& context, const Experiment& experiment, std::string_view name,
                 std::string_view computation) {
  const hlo::InstructionId id = Named(*experiment.module(), name, computation);
  if (!id.valid()) return;
  context.navigation.Select(
      Selection::OfInstruction(experiment.request().module_index, experiment.request().stage, id));
}

// Other inputs may give one.
void DrawNoneFound(Frame& frame, const Experiment& experiment) {
  if (!experiment.request().inputs.files.empty()) return;
  Sentence(frame,
           "these inputs were generated: recorded ones may give another result "
           "(--xla_dump_hlo_unoptimized_snapshots or `hloscope record --inputs` writes them)");
  CommandButton(frame, Command::kChooseInputs, "Choose a file …", true);
}

// Those that name an instruction lead to it.
void DrawWarnings(Frame& frame, const Experiment& experiment, const debug::RunReport& report) {
  for (size_t i = 0; i < report.warnings.size(); ++i) {
    const std::string& warning = report.warnings[i];
    const auto arrival =
        std::ranges::find(report.arrivals, warning, &debug::NonFiniteArrival::text);
    if (arrival == report.arrivals.end()) {
      Label(frame.theme, Color::kWarning, SafeText(warning, 300));
      continue;
    }
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[Color::kWarning]);
    if (Choice(warning, fmt::format("arrival{}", i)))
      SelectNamed(frame.context, experiment, arrival->instruction, arrival->computation);
    ImGui::PopStyleColor();
  }
}

// ", 2 of 4 elements": how many like it the instruction has; empty: not known.
std::string CountOf(const Experiment& experiment, const debug::NonFinite& first) {
  const ExperimentRequest& request = experiment.request();
  const RunValues* values = experiment.ValuesOf(request.module_index, request.stage);
  // Those of the run before it stay until they are replaced.
  if (values == nullptr || experiment.running() || values->inputs != InputsText(request)) return {};
  const hlo::InstructionId id = Named(*experiment.module(), first.instruction, first.computation);
  const auto held = id.valid() ? FindCapturedValues(*values, id) : std::nullopt;
  if (!held) return {};
  int64_t elements = 0, count = 0;
  for (const replay::ValueStatistics& leaf :
       held->reference.empty() ? held->platform : held->reference) {
    elements += leaf.elements;
    count += first.kind == debug::NonFiniteKind::kNan ? leaf.nans : leaf.infinities;
  }
  return fmt::format(", {} of {}{}", CountText(count), CountedText(elements, "element"),
                     held->executions > 1 ? " in its last execution" : "");
}

}  // namespace

// "[2,3] is nan, 5 of 12 elements". Looked up once: modules may be large.
const std::string& NonFiniteOutcome::ElementText(const Experiment& experiment,
                                                 const debug::NonFinite& first) {
  std::string of =
      fmt::format("{} {} {} {} {}", static_cast<const void*>(experiment.module()),
                  experiment.runs(), experiment.running(), first.instruction, first.computation);
  if (of == element_of_) return element_;
  element_of_ = std::move(of);
  const std::string leaf =
      first.leaf.empty() ? "" : fmt::format("{{{}}}", fmt::join(first.leaf, ","));
  element_ = fmt::format("{}[{}] is {}{}", leaf, fmt::join(first.index, ","), first.value,
                         CountOf(experiment, first));
  return element_;
}

void NonFiniteOutcome::DrawFirst(Frame& frame, const Experiment& experiment,
                                 const debug::NonFinite& first) {
  for (const debug::PathStep& step : first.path) {
    std::string line = "called by " + step.instruction;
    if (step.iteration) line += fmt::format(" in iteration {}", *step.iteration);
    Label(frame.theme, Color::kTextSecondary, SafeText(line));
  }
  Fact(frame, "element", ElementText(experiment, first));
  for (const debug::OperandReport& operand : first.operands) {
    std::string value = operand.value.value_or("");
    if (operand.range) value = fmt::format("{} to {}", operand.range->low, operand.range->high);
    Fact(frame, SafeText(operand.instruction, 30), SafeText(operand.shape + "  " + value));
  }
  if (!first.source.empty()) Fact(frame, "source line", first.source);
  // Found once, it is selected once; the button brings it back.
  const bool is_new = std::exchange(selects_, false);
  const bool pressed = ImGui::SmallButton("Go to instruction");
  Help("select this instruction on all screens");
  if (pressed || is_new)
    SelectNamed(frame.context, experiment, first.instruction, first.computation);
}

void NonFiniteOutcome::Draw(Frame& frame, const Experiment& experiment,
                            const debug::RunReport& report) {
  if (report.found_no_nonfinite) DrawNoneFound(frame, experiment);
  if (report.first_nonfinite) DrawFirst(frame, experiment, *report.first_nonfinite);
  DrawWarnings(frame, experiment, report);
}

}  // namespace hloscope::viewer
