// The inputs of an iteration, from where the request says.
#include "core/debug/run/input_source.h"

#include <fmt/format.h>

#include <utility>

#include "core/analysis/denormals.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/run_literals.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::debug {

using hlo::Literal;
using Clock = std::chrono::steady_clock;

// Iterations differ only where inputs are made up or a literals file has them.
Status InputSource::Prepare(int64_t iteration) {
  const bool always_the_same = !report_.generated_inputs && request_.input_literals.empty();
  if (iteration > 0 && always_the_same) return {};
  const Clock::time_point start = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(inputs_, Find(iteration));
  if (request_.flush_denormals) Flush();
  if (iteration == 0) report_.arguments = inputs_.arguments;
  report_.timing.load_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (iteration == 0 && !request_.save_inputs.empty()) {
    HLOSCOPE_TRY(WriteRunInputs(request_.save_inputs, inputs_, placement_));
  }
  return {};
}

void InputSource::Flush() {
  for (Literal& argument : inputs_.arguments) argument = analysis::FlushDenormals(argument);
  for (auto& list : inputs_.lists) {
    for (Literal& leaf : list) leaf = analysis::FlushDenormals(leaf);
  }
}

Result<RunInputs> InputSource::Find(int64_t iteration) {
  if (NamesSnapshot(request_.inputs)) {
    HLOSCOPE_ASSIGN_OR_RETURN(RecordedArguments known,
                              ReadSnapshotArguments(request_.inputs[0], request_.limits));
    recorded_ = std::move(known.result);
    return SpreadArguments(std::move(known.arguments), module_, placement_);
  }
  if (!request_.inputs.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto files, OpenInputs(request_.inputs, request_.limits));
    if (iteration == 0) {
      report_.warnings.insert(report_.warnings.end(), files.notes().begin(), files.notes().end());
    }
    return ReadInputs(files, module_, placement_);
  }
  if (!request_.input_literals.empty()) return TakeLiterals(iteration);
  if (!request_.arguments.empty()) {
    recorded_ = request_.recorded;
    return SpreadArguments(request_.arguments, module_, placement_);
  }
  return Generate(iteration);
}

Result<RunInputs> InputSource::Generate(int64_t iteration) {
  const bool has_parameters = !module_.Parameters(module_.entry_id()).empty();
  report_.generated_inputs = has_parameters && request_.random_inputs;
  // A module without parameters always gives its recorded result.
  if (!has_parameters) recorded_ = request_.recorded;
  replay::InputOptions options;
  options.seed = request_.seed + static_cast<uint64_t>(iteration);
  options.large_floats = request_.large_floats;
  options.edge_values = request_.edge_values;
  options.zeros = !request_.random_inputs;
  options.limits = request_.limits;
  options.deadline = deadline_;
  options.stop = stop_;
  std::vector<std::string> warnings;
  auto made = GenerateInputs(module_, placement_, options, warnings);
  if (iteration == 0) {
    report_.warnings.insert(report_.warnings.end(), warnings.begin(), warnings.end());
  }
  return made;
}

// The arguments that a literals file has for an iteration, and the result beside them.
Result<RunInputs> InputSource::TakeLiterals(int64_t iteration) {
  if (literals_.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(literals_,
                              ReadLiteralsFile(request_.input_literals, request_.limits));
  }
  if (std::cmp_greater_equal(iteration, literals_.size())) {
    return InputError(fmt::format("{}: contains {} iterations, --iterations asks for {}",
                                  request_.input_literals, literals_.size(), request_.iterations),
                      "give fewer --iterations");
  }
  const hlo::IterationLiterals& taken = literals_[static_cast<size_t>(iteration)];
  recorded_ = taken.result;
  return SpreadArguments(taken.arguments, module_, placement_);
}

}  // namespace hloscope::debug
