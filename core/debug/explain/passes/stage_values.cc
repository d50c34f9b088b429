// Evaluating stages on shared inputs.
#include "core/debug/explain/passes/stage_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/analysis/align/alignment_side.h"
#include "core/debug/explain/diverge/optimised_module.h"
#include "core/eval/numbers/precise.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;

namespace {

// Whether its parameters are tuples where the arguments are.
bool TakesTuples(const Module& module, std::span<const Literal> arguments) {
  const std::vector<hlo::InstructionId> parameters = module.Parameters(module.entry_id());
  return std::ranges::equal(parameters, arguments, [&](hlo::InstructionId id, const Literal& a) {
    return module.shape(id).IsTuple() == a.shape().IsTuple();
  });
}

Error NoValue(size_t number, Error error) {
  error.message = fmt::format("out{} has no value: {}", number, error.message);
  return error;
}

}  // namespace

Leaves OnlyResults(Leaves results, std::span<const int64_t> numbers) {
  for (size_t i = 0; i < results.size() && !numbers.empty(); ++i) {
    if (std::ranges::find(numbers, static_cast<int64_t>(i)) != numbers.end()) continue;
    results[i] = std::unexpected(Error{ErrorClass::kUnsupported, "not judged", {}, {}});
  }
  return results;
}

std::optional<Error> FirstMissing(const Leaves& results, const Leaves& known) {
  for (size_t i = 0; i < results.size() && i < known.size(); ++i) {
    if (results[i] || !known[i]) continue;
    return NoValue(i, results[i].error());
  }
  return std::nullopt;
}

std::optional<Error> FirstMissing(const Leaves& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return NoValue(i, results[i].error());
  }
  return std::nullopt;
}

Result<Leaves> LeavesOf(const RunReport& report) {
  if (report.outputs.empty() && report.error) return std::unexpected(*report.error);
  Leaves leaves;
  bool any = report.outputs.empty();
  for (const RunOutput& output : report.outputs) {
    if (output.missing) {
      leaves.push_back(std::unexpected(*output.missing));
    } else {
      leaves.push_back(output.value);
      any = true;
    }
  }
  if (!any) return std::unexpected(leaves.front().error());
  return leaves;
}

StageValues::StageValues(const RunSpec& request, std::stop_token stop)
    : request_(DerivedSpec(request, {.name = std::string(replay::ReferencePlatform().name)},
                           request.inputs)),
      stop_(std::move(stop)) {}

Result<Leaves> StageValues::Begin(const std::shared_ptr<const Module>& module) {
  first_ = RunModule(module, request_, stop_);
  request_.inputs = request_.inputs.With(first_.arguments);
  return LeavesOf(first_);
}

StageValues StageValues::On(std::vector<Literal> arguments) const {
  StageValues other = *this;
  other.request_.inputs.arguments = std::move(arguments);
  return other;
}

Result<Leaves> StageValues::Run(const std::shared_ptr<const Module>& module,
                                const RunSpec& request) const {
  return LeavesOf(RunModule(module, RequestFor(*module, request), stop_));
}

RunSpec StageValues::RequestFor(const Module& module, RunSpec request) {
  if (!TakesTuples(module, request.inputs.arguments)) {
    request.inputs.arguments = LeafArguments(request.inputs.arguments);
  }
  return request;
}

Result<Leaves> StageValues::Plain(const std::shared_ptr<const Module>& module) const {
  return Run(module, request_);
}

Result<Leaves> StageValues::Wide(const std::shared_ptr<const Module>& module) const {
  return Run(eval::WidenModule(*module), request_);
}

Result<Leaves> StageValues::Rounded(const std::shared_ptr<const Module>& module) const {
  return Run(eval::WidenModule(*module, eval::Roundings::kAsked), request_);
}

DivergeTry StageValues::TryConditioning(const std::shared_ptr<const Module>& module,
                                        const Leaves& actual, const Leaves& expected,
                                        double steps) const {
  const auto evaluate = [this](const std::shared_ptr<const Module>& other,
                               const std::vector<Literal>& arguments) {
    return On(arguments).Plain(other);
  };
  return debug::TryConditioning(module, request_.inputs.arguments, actual, expected,
                                request_.compare.bounds, evaluate, steps);
}

}  // namespace hloscope::debug
