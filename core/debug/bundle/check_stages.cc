#include "core/debug/bundle/check_stages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "core/debug/explain/passes/two_modules.h"
#include "core/dump/bundle_file.h"

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

}  // namespace

StagesCheck CheckStages(const std::shared_ptr<const hlo::Module>& before,
                        const std::shared_ptr<const hlo::Module>& after, const RunSpec& request,
                        const std::stop_token& stop) {
  RunSpec stages = SpecOfStages(request);
  stages.limits = request.limits;
  stages.inputs = request.inputs;
  stages.execution.workers = request.execution.workers;
  const ModuleFiles files{.first = std::string(dump::FileOf(dump::BundlePart::kAfterPass)),
                          .second = std::string(dump::FileOf(dump::BundlePart::kBeforePass))};
  const DivergeVerdict verdict = ExplainTwoModules(after, before, stages, files, stop);
  if (verdict.status == RunStatus::kDiffers) {
    return {StagesStatus::kDiffer, "the modules before and after the pass differ here too"};
  }
  if (verdict.status == RunStatus::kEqual) {
    return {StagesStatus::kAgree, "the modules before and after the pass agree here"};
  }
  std::string clause = "the modules before and after the pass could not be compared here";
  if (!verdict.errors.empty()) clause += ": " + verdict.errors.front().ToString();
  return {StagesStatus::kCannot, std::move(clause)};
}

std::string StagesCommand(const BundleManifest& manifest, bool has_inputs, bool has_infeed) {
  std::string command = "hloscope diverge after_pass.hlo before_pass.hlo";
  const std::string options = RunOptionsText(SpecOfStages(manifest.request));
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
