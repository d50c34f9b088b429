#include "core/debug/bundle/check_stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "core/debug/explain/diverge/read_verdict.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/debug/explain/passes/two_modules.h"
#include "core/debug/run/input_source.h"
#include "core/replay/device_values.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

// What counts where both are evaluated.
RunSpec SpecOfStages(const RunSpec& recorded) {
  RunSpec stages;
  stages.test.name.clear();
  stages.inputs.seed = recorded.inputs.seed;
  stages.inputs.random = recorded.inputs.random;
  stages.inputs.large_floats = recorded.inputs.large_floats;
  stages.inputs.edge_values = recorded.inputs.edge_values;
  stages.inputs.flush_denormals = recorded.inputs.flush_denormals;
  stages.load.fill_elided = recorded.load.fill_elided;
  stages.compare.bounds = recorded.compare.bounds;
  stages.budget = recorded.budget;
  stages.execution.verify = recorded.execution.verify;
  return stages;
}

// Writes the inputs that are generated for the bundle's module.
std::string SaveInputsCommand(const RunSpec& recorded) {
  RunSpec run = SpecOfStages(recorded);
  run.test.name = replay::ReferencePlatform().name;
  run.compare.bounds = {};
  return fmt::format("hloscope run module.hlo {} --save-inputs inputs.npz", RunOptionsText(run));
}

}  // namespace

Result<std::vector<hlo::Literal>> ArgumentsOfRun(const hlo::Module& module, const RunSpec& request,
                                                 const RunReport& report,
                                                 const std::stop_token& stop) {
  if (!report.arguments.empty()) return report.arguments;
  HLOSCOPE_TRY(replay::CheckDeviceCount(module, request.limits));
  const replay::Placement placement(module, request.limits);
  RunReport prepared;
  InputSource inputs(module, placement, request, prepared);
  inputs.set_bounds(DeadlineOf(request), stop);
  HLOSCOPE_TRY(inputs.Prepare(0));
  return std::move(prepared.arguments);
}

bool BlamesWithinBounds(const dump::BundleFile& bundle) {
  if (!bundle.Has(dump::BundlePart::kVerdict)) return false;
  const auto text = bundle.Read(dump::BundlePart::kVerdict);
  if (!text) return false;
  const auto kept = ReadVerdict(*text);
  return kept && !kept->verdict.passes.empty() && kept->verdict.passes.front().within_bounds;
}

Result<StagesCheck> CheckStages(const std::shared_ptr<const hlo::Module>& before,
                                const std::shared_ptr<const hlo::Module>& after,
                                const RunSpec& request, bool within_bounds,
                                const std::stop_token& stop) {
  constexpr BoundsRequest kExactly{0, 0};
  RunSpec stages = SpecOfStages(request);
  stages.limits = request.limits;
  stages.inputs = request.inputs;
  stages.execution.workers = request.execution.workers;
  const ModuleFiles files{.first = std::string(dump::FileOf(dump::BundlePart::kAfterPass)),
                          .second = std::string(dump::FileOf(dump::BundlePart::kBeforePass))};
  HLOSCOPE_ASSIGN_OR_RETURN(const ResultsOfTwo results,
                            EvaluateTwoModules(after, before, stages, files, stop));
  const auto& [own, meant] = results;
  if (WorstDifference(own, meant, stages.compare.bounds)) {
    return StagesCheck{true, "the modules before and after the pass differ here too"};
  }
  if (within_bounds && WorstDifference(own, meant, kExactly)) {
    return StagesCheck{true,
                       "the modules before and after the pass differ here too, within the bounds"};
  }
  for (const auto& [leaves, file] :
       {std::pair(&own, &files.first), std::pair(&meant, &files.second)}) {
    auto missing = FirstMissing(*leaves);
    if (!missing) continue;
    missing->place.file = *file;
    return std::unexpected(*std::move(missing));
  }
  return StagesCheck{false, "the modules before and after the pass agree here"};
}

std::string StagesCommand(const BundleManifest& manifest, bool has_inputs, bool has_infeed) {
  RunSpec stages = SpecOfStages(manifest.request);
  std::string command;
  const bool generated = !has_inputs && manifest.recorded.inputs_generated;
  if (generated && stages.inputs.random) {
    command = SaveInputsCommand(manifest.request) + "\n";
    // Of values that infeeds take the seed counts still.
    const RunSpec usual;
    stages.inputs.large_floats = usual.inputs.large_floats;
    stages.inputs.edge_values = usual.inputs.edge_values;
    has_inputs = true;
  }
  command += "hloscope diverge after_pass.hlo before_pass.hlo";
  const std::string options = RunOptionsText(stages);
  if (!options.empty()) command += " " + options;
  if (has_inputs) command += " --inputs inputs.npz";
  if (has_infeed) command += " --infeed infeed.npz";
  return command;
}

std::string MissingOfStages(const BundleManifest& manifest, bool has_inputs, bool has_infeed) {
  const RecordedRun& recorded = manifest.recorded;
  std::vector<std::string_view> missing;
  if (!recorded.inputs_generated && !has_inputs) missing.push_back("--inputs F with the inputs");
  if (recorded.infeed_given && !has_infeed) {
    missing.push_back("--infeed F with the values that infeeds take");
  }
  if (recorded.constants_left_out) {
    missing.push_back("--constants F.npz with the values of constants");
  }
  return missing.empty()
             ? ""
             : fmt::format("{}: the bundle does not have them", fmt::join(missing, " and "));
}

}  // namespace hloscope::debug
