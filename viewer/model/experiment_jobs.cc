#include "viewer/model/experiment_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/debug/pieces/pieces.h"
#include "core/debug/run/extract.h"
#include "viewer/model/number_text.h"

namespace hloscope::viewer {
namespace {

using debug::InstructionReport;
using debug::LeafComparison;
using hlo::InstructionId;

std::string NoteOf(const InstructionReport& report) {
  if (report.error) return report.error->ToString();
  if (report.together_with.empty()) return report.compared ? "" : "no reference";
  std::string note = "checked together with";
  for (const std::string& name : report.together_with) note += " " + name;
  return note;
}

Verdict VerdictOfReport(const InstructionReport& report) {
  if (report.error) return Verdict::kFailed;
  if (!report.compared) return Verdict::kNotCompared;
  Verdict worst = Verdict::kSameBits;
  for (const LeafComparison& leaf : report.outputs) worst = std::max(worst, VerdictOf(leaf));
  return worst;
}

// Array leaves in order; those of other kinds are left out.
void Flatten(const hlo::Literal& literal, std::vector<hlo::Literal>& leaves) {
  std::vector<const hlo::Literal*> pending = {&literal};
  while (!pending.empty()) {
    const hlo::Literal& next = *pending.back();
    pending.pop_back();
    if (next.shape().IsArray()) leaves.push_back(next);
    for (size_t i = next.elements().size(); i-- > 0;) pending.push_back(&next.elements()[i]);
  }
}

// The instruction as isolating it runs it: constants, and what is made of nothing else, come along.
Result<debug::ExtractedModule> CutOut(const hlo::Module& module, InstructionId instruction) {
  HLOSCOPE_ASSIGN_OR_RETURN(debug::ExtractedModule extracted,
                            debug::ExtractModule(module, instruction, 0));
  const hlo::Opcode opcode = module[instruction].opcode;
  if (debug::ForwardsOperand(opcode) || opcode == hlo::Opcode::kConstant) return extracted;
  debug::JoinedPieces joined =
      debug::JoinPieces(module, std::array{debug::CutPiece(module, instruction, 0)});
  return debug::ExtractedModule{std::move(joined.module), std::move(joined.parameters), 1};
}

}  // namespace

Finding FindingOf(const InstructionReport& report, InstructionId instruction) {
  Finding finding;
  finding.instruction = instruction;
  for (const LeafComparison& leaf : report.outputs) {
    finding.elements += leaf.elements;
    finding.mismatched += leaf.mismatched;
    finding.max_abs_error = std::max(finding.max_abs_error, leaf.max_abs_error);
    finding.max_rel_error = std::max(finding.max_rel_error, leaf.max_rel_error);
    finding.max_ulp = std::max(finding.max_ulp, leaf.max_ulp);
  }
  finding.verdict = VerdictOfReport(report);
  finding.note = NoteOf(report);
  return finding;
}

int64_t CountRun(const hlo::Module& module) {
  int64_t count = 0;
  for (const hlo::Instruction& instruction : module.instructions(module.entry())) {
    const hlo::Opcode opcode = instruction.opcode;
    count += opcode != hlo::Opcode::kParameter && opcode != hlo::Opcode::kConstant &&
             !debug::ForwardsOperand(opcode) && !debug::RunsWithItsDone(opcode);
  }
  return count;
}

std::unordered_map<std::string_view, InstructionId> NamesOfEntry(const hlo::Module& module) {
  std::unordered_map<std::string_view, InstructionId> names;
  const hlo::Computation& entry = module.entry();
  for (uint32_t i = 0; i < entry.instruction_count; ++i) {
    const InstructionId id(entry.first_instruction + i);
    names.emplace(module.name(id), id);
  }
  return names;
}

void CaptureBoth(const std::shared_ptr<const hlo::Module>& module, const std::string& platform,
                 const debug::RunSpec& request, const std::stop_token& stop, CapturedPair& pair) {
  const auto cut = CutOut(*module, pair.instruction);
  if (!cut) {
    pair.note = cut.error().ToString();
    return;
  }
  const auto values =
      debug::CaptureValues(*module, pair.instruction, cut->parameters, 0,
                           [&](const replay::CapturePlan& plan, replay::RunStream& stream) {
                             return debug::RunCapturing(module, request, plan, stream, stop);
                           });
  if (!values) {
    pair.note = values.error().ToString();
    return;
  }
  if (values->value) Flatten(*values->value, pair.reference_leaves);
  if (platform == replay::ReferencePlatform().name) return;
  const debug::RunSpec alone = debug::DerivedSpec(request, debug::TestOn(request, platform),
                                                  request.inputs.With(values->arguments));
  const debug::RunReport report = debug::RunModule(cut->module, alone, stop);
  for (const debug::RunOutput& output : report.outputs) {
    if (!output.missing && output.value.shape().IsArray()) {
      pair.actual_leaves.push_back(output.value);
    }
  }
  if (report.error) pair.note = report.error->ToString();
  pair.bounds = request.compare.bounds;
  const size_t both = std::min(pair.reference_leaves.size(), pair.actual_leaves.size());
  for (size_t i = 0; i < both; ++i) {
    pair.counts.push_back(
        CountElements(pair.actual_leaves[i], pair.reference_leaves[i], request.compare.bounds));
  }
}

RunValues ValuesBefore(const std::shared_ptr<const hlo::Module>& module,
                       const ExperimentRequest& request) {
  RunValues values;
  values.module = module;
  values.place = request.place;
  values.module_index = request.module_index;
  values.stage = request.stage;
  values.platform = request.test.name;
  values.reference = request.compare.isolate ? request.reference.name : "";
  values.inputs = InputsText(request);
  return values;
}

std::vector<int64_t> NansOf(const debug::RunReport& report) {
  std::vector<int64_t> nans;
  for (const debug::RunOutput& output : report.outputs) {
    int64_t count = 0;
    if (!output.missing) {
      for (const replay::ValueStatistics& leaf : DescribeLeaves(output.value)) count += leaf.nans;
    }
    nans.push_back(count);
  }
  return nans;
}

void AddArguments(std::span<const hlo::Literal> arguments, RunValues& values) {
  const auto parameters = values.module->Parameters(values.module->entry_id());
  for (size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i) {
    if (!parameters[i].valid()) continue;
    CapturedValues held;
    held.platform = DescribeLeaves(arguments[i]);
    if (!values.reference.empty()) held.reference = held.platform;
    values.of[parameters[i].index] = std::move(held);
  }
}

void AddInner(const std::shared_ptr<const hlo::Module>& module, const debug::RunSpec& run,
              const std::stop_token& stop, RunValues& values) {
  constexpr double kMaxSeconds = 30;
  debug::RunSpec inner =
      debug::DerivedSpec(run, debug::TestOn(run, replay::ReferencePlatform().name), run.inputs);
  inner.budget.seconds = std::min(run.budget.seconds.value_or(kMaxSeconds), kMaxSeconds);
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items = {{replay::CaptureScope::kAll, replay::CaptureForm::kStatistics, {}}};
  CapturedValuesCollector collector;
  const auto ran = debug::RunCapturing(module, inner, plan, collector, stop);
  if (!ran) values.note = "values are missing: " + ran.error().ToString();
  if (collector.is_full) {
    values.note = fmt::format("only the first {} have values",
                              CountedText(static_cast<int64_t>(kMaxCapturedValues), "instruction"));
  }
  for (auto& [index, held] : collector.values) values.of.try_emplace(index, std::move(held));
}

}  // namespace hloscope::viewer
