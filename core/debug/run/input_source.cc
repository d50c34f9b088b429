// The inputs of an iteration, from where the request says.
#include "core/debug/run/input_source.h"

#include <fmt/format.h>

#include <utility>

#include "core/analysis/denormals.h"
#include "core/base/counted.h"
#include "core/debug/run/recorded_arguments.h"
#include "core/debug/run/run_literals.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::debug {

using hlo::Literal;
using Clock = std::chrono::steady_clock;

// Iterations differ only where inputs are generated or a literals file has them.
Status InputSource::Prepare(int64_t iteration) {
  const bool always_the_same = !report_.generated_inputs && spec_.inputs.literals_file.empty();
  if (iteration > 0 && always_the_same) {
    if (iteration == 1) {
      report_.warnings.push_back(fmt::format("all {} have the same inputs: {}",
                                             Counted(spec_.repeats.iterations, "iteration"),
                                             WhyTheSame()));
    }
    return {};
  }
  const Clock::time_point start = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(inputs_, Find(iteration));
  if (spec_.inputs.flush_denormals && !headers_only_) Flush();
  if (iteration == 0) report_.arguments = inputs_.arguments;
  report_.timing.load_ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (iteration == 0 && !saved_.empty()) {
    HLOSCOPE_TRY(WriteRunInputs(saved_, inputs_, placement_));
  }
  return {};
}

std::string_view InputSource::WhyTheSame() const {
  if (!spec_.inputs.files.empty()) return "those of --inputs";
  if (!spec_.inputs.arguments.empty()) return "those recorded with the module";
  return spec_.inputs.random ? "the module has no parameters"
                             : "zeros, as --random_init_input_literals=false asks";
}

void InputSource::Flush() {
  for (Literal& argument : inputs_.arguments) argument = analysis::FlushDenormals(argument);
  for (auto& list : inputs_.lists) {
    for (Literal& leaf : list) leaf = analysis::FlushDenormals(leaf);
  }
}

std::optional<std::vector<std::vector<Literal>>> InputSource::FlushedLists() const {
  std::vector<std::vector<Literal>> lists = inputs_.lists;
  bool changed = false;
  for (std::vector<Literal>& list : lists) {
    for (Literal& leaf : list) {
      Literal flushed = analysis::FlushDenormals(leaf);
      changed |= !(flushed == leaf);
      leaf = std::move(flushed);
    }
  }
  if (!changed) return std::nullopt;
  return lists;
}

Result<RunInputs> InputSource::Find(int64_t iteration) {
  if (NamesSnapshot(spec_.inputs.files)) {
    HLOSCOPE_ASSIGN_OR_RETURN(RecordedArguments known,
                              ReadSnapshotArguments(spec_.inputs.files[0], spec_.limits));
    recorded_ = std::move(known.result);
    return SpreadArguments(std::move(known.arguments), module_, placement_);
  }
  if (!spec_.inputs.files.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(
        auto files, OpenArrays(spec_.inputs.files, dump::BundlePart::kInputs, spec_.limits));
    if (headers_only_) files.ReadHeadersOnly();
    NumberByParameters(files, module_);
    if (iteration == 0) {
      report_.warnings.insert(report_.warnings.end(), files.notes().begin(), files.notes().end());
    }
    HLOSCOPE_ASSIGN_OR_RETURN(RunInputs read, ReadInputs(files, module_, placement_));
    if (iteration == 0) {
      for (const std::string& line : read.warnings) report_.WarnOfUnusedArray(line);
    }
    return read;
  }
  if (!spec_.inputs.literals_file.empty()) return TakeLiterals(iteration);
  if (!spec_.inputs.arguments.empty()) {
    recorded_ = spec_.compare.recorded;
    return SpreadArguments(spec_.inputs.arguments, module_, placement_);
  }
  return Generate(iteration);
}

Result<RunInputs> InputSource::Generate(int64_t iteration) {
  const bool has_parameters = !module_.Parameters(module_.entry_id()).empty();
  report_.generated_inputs = has_parameters && spec_.inputs.random;
  // A module without parameters always gives its recorded result.
  if (!has_parameters) recorded_ = spec_.compare.recorded;
  replay::InputOptions options;
  options.seed = spec_.inputs.seed + static_cast<uint64_t>(iteration);
  options.large_floats = spec_.inputs.large_floats;
  options.edge_values = spec_.inputs.edge_values;
  options.zeros = !spec_.inputs.random;
  options.limits = spec_.limits;
  options.budget = {.deadline = deadline_, .stop = stop_};
  std::vector<std::string> warnings;
  auto made = GenerateInputs(module_, placement_, options, warnings);
  if (iteration == 0) {
    report_.warnings.insert(report_.warnings.end(), warnings.begin(), warnings.end());
  }
  return made;
}

// The arguments that a literals file has for an iteration, and the result next to them.
Result<RunInputs> InputSource::TakeLiterals(int64_t iteration) {
  if (literals_.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(literals_,
                              ReadLiteralsFile(spec_.inputs.literals_file, spec_.limits));
  }
  if (std::cmp_greater_equal(iteration, literals_.size())) {
    return InputError(
        fmt::format("{}: contains {}, --iterations asks for {}", spec_.inputs.literals_file,
                    Counted(literals_.size(), "iteration"), spec_.repeats.iterations),
        "give fewer --iterations");
  }
  if (iteration == 0 && std::cmp_less(spec_.repeats.iterations, literals_.size())) {
    report_.warnings.push_back(
        fmt::format("{}: contains {} sets of inputs, --iterations asks for {}",
                    spec_.inputs.literals_file, literals_.size(), spec_.repeats.iterations));
  }
  const hlo::IterationLiterals& taken = literals_[static_cast<size_t>(iteration)];
  recorded_ = taken.result;
  return SpreadArguments(taken.arguments, module_, placement_);
}

}  // namespace hloscope::debug
