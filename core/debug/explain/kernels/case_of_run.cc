// A search beside a run, and operands read back from the bytes of a case.
#include "core/debug/explain/kernels/case_of_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/backends/pjrt/device_bytes.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/run/extract.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using replay::KernelOutcome;

namespace {

class OutcomeStream : public replay::RunStream {
 public:
  void Take(replay::RunEvent event) override {
    const auto* finding = std::get_if<replay::SearchFinding>(&event);
    auto outcome = finding == nullptr ? std::nullopt : replay::ReadKernelOutcome(*finding);
    if (outcome) outcomes.push_back(*std::move(outcome));
  }
  std::vector<KernelOutcome> outcomes;
};

Status Search(const std::shared_ptr<const Module>& module, const RunSpec& request,
              const replay::KernelCaseFilter& filter, const std::stop_token& stop,
              OutcomeStream& stream) {
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.search = replay::KernelCasesRequest(filter);
  HLOSCOPE_TRY(RunCapturing(module, request, plan, stream, stop));
  return {};
}

// What comes of kernels that no case was made of.
Error NoSuchKernel(const std::string& name, int64_t execution,
                   const std::vector<KernelOutcome>& outcomes) {
  std::set<std::string> names;
  for (const KernelOutcome& outcome : outcomes) {
    if (outcome.kernels == name || outcome.instruction == name) {
      return InputError(fmt::format("kernel {} was not launched {} times", name, execution + 1),
                        "ask for an earlier execution")
          .error();
    }
    names.insert(outcome.kernels);
  }
  if (names.empty()) {
    return InputError(fmt::format("no kernel {}: this run launched none", name)).error();
  }
  return InputError(fmt::format("no kernel or instruction {}", name),
                    fmt::format("this run launched {}", fmt::join(names, ", ")))
      .error();
}

void Flatten(const runtime::Value& value, Leaves& leaves) {
  if (!value.is_tuple()) return leaves.push_back(value.ToLiteral()), void();
  for (const runtime::Value& element : value.elements()) Flatten(element, leaves);
}

}  // namespace

Leaves LeavesOf(const runtime::Value& value) {
  Leaves leaves;
  Flatten(value, leaves);
  return leaves;
}

std::vector<int64_t> LeavesBeyond(const KernelOutcome& outcome, const BoundsRequest& bounds) {
  const Leaves actual = LeavesOf(outcome.actual), meant = LeavesOf(outcome.meant);
  std::vector<int64_t> leaves;
  for (size_t i = 0; i < std::max(actual.size(), meant.size()); ++i) {
    const bool is_there =
        i < actual.size() && i < meant.size() && actual[i].has_value() && meant[i].has_value();
    if (is_there &&
        (!meant[i]->shape().IsArray() || CompareArrays(*actual[i], *meant[i], bounds).equal())) {
      continue;
    }
    leaves.push_back(static_cast<int64_t>(i));
  }
  return leaves;
}

bool IsBeyond(const KernelOutcome& outcome, const BoundsRequest& bounds) {
  return !LeavesBeyond(outcome, bounds).empty();
}

Result<std::vector<KernelOutcome>> OutcomesOfKernels(const std::shared_ptr<const Module>& module,
                                                     const RunSpec& request,
                                                     const replay::KernelCaseFilter& filter,
                                                     const std::stop_token& stop) {
  OutcomeStream stream;
  HLOSCOPE_TRY(Search(module, request, filter, stop, stream));
  return std::move(stream.outcomes);
}

Result<KernelOutcome> CaseOfKernel(const std::shared_ptr<const Module>& module,
                                   const RunSpec& request, const std::string& name,
                                   int64_t execution, const std::stop_token& stop) {
  OutcomeStream stream;
  const Status ran = Search(module, request, {.name = name, .execution = execution}, stop, stream);
  // A run that ended with a fault of that very kernel has its case.
  for (KernelOutcome& outcome : stream.outcomes) {
    if (!outcome.why_no_case.empty()) return UnsupportedError(outcome.why_no_case);
    if (outcome.kernels_case) return std::move(outcome);
  }
  if (!ran.has_value()) return std::unexpected(ran.error());
  return std::unexpected(NoSuchKernel(name, execution, stream.outcomes));
}

Result<replay::KernelDiagnosisAnswer> DiagnoseWithin(const replay::KernelDiagnosis& diagnosis,
                                                     const RunSpec& request,
                                                     const std::stop_token& stop) {
  replay::RunOptions options = TestOptions(request);
  if (request.budget.seconds) {
    options.limits.run_deadline_seconds =
        static_cast<int64_t>(std::ceil(std::min(*request.budget.seconds, 1e9)));
  }
  return replay::DiagnoseKernel(diagnosis, options, stop);
}

Result<KernelQuestion> QuestionOf(const KernelOutcome& outcome) {
  const Module& program = *outcome.program;
  const InstructionId id =
      hlo::FindInstruction(program, outcome.computation + ":" + outcome.instruction);
  if (!id.valid()) return InternalError("the program has no such instruction");
  HLOSCOPE_ASSIGN_OR_RETURN(ExtractedModule alone,
                            ExtractModule(program, id, 0, Metadata::kStripped));
  KernelQuestion question;
  question.kernels = *outcome.kernels_case;
  question.alone = std::move(alone.module);
  for (const auto& [index, shape] : program.shape(id).Leaves()) {
    question.results.push_back(*shape);
    question.result_leaves.push_back({std::string(program.name(id)), index, *shape});
  }
  for (const InstructionId operand : program.operands(id)) {
    for (const auto& [index, shape] : program.shape(operand).Leaves()) {
      question.operand_leaves.push_back({std::string(program.name(operand)), index, *shape});
    }
  }
  for (const InstructionId parameter : alone.parameters) {
    size_t leaf = 0;
    std::vector<Literal> leaves;
    for (const InstructionId operand : program.operands(id)) {
      const auto shapes = program.shape(operand).LeafShapes();
      for (size_t i = 0; operand == parameter && leaves.size() < shapes.size(); ++i) {
        const replay::CaseSlice& slice = question.kernels.operands[leaf + i];
        const std::byte* bytes = question.kernels.memory[slice.region].data() + slice.offset;
        HLOSCOPE_ASSIGN_OR_RETURN(Literal array, replay::pjrt::FromDeviceBytes(*shapes[i], bytes));
        leaves.push_back(std::move(array));
      }
      leaf += shapes.size();
    }
    size_t next = 0;
    auto whole = hlo::NestLeaves(program.shape(parameter), leaves, next);
    if (!whole) return InternalError("an operand is missing");
    question.arguments.push_back(*std::move(whole));
  }
  return question;
}

}  // namespace hloscope::debug
