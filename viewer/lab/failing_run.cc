// Which run it is.
#include "viewer/lab/failing_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/debug/bundle/untrusted_request.h"
#include "core/debug/run/failure.h"
#include "core/replay/platform_table.h"
#include "viewer/model/document.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

std::optional<FailingRun> OfExperiment(const Experiment& experiment, int32_t module) {
  const ExperimentRequest& request = experiment.request();
  if (experiment.report() == nullptr || experiment.running() || request.module_index != module) {
    return std::nullopt;
  }
  FailingRun run{module, request.stage, request, "the last run"};
  run.request.compare.isolate = false;
  return run;
}

// A verdict that was read from a file is untrusted: it may name no file that would be loaded.
bool NamesPlatforms(const debug::DivergeVerdict& verdict) {
  return std::ranges::all_of(
      std::array{&verdict.platform, &verdict.reference},
      [](const std::string* name) { return name->empty() || debug::MayNamePlatform(*name); });
}

std::optional<FailingRun> OfVerdict(Context& context, int32_t module) {
  const Pending<debug::DivergeVerdict>* pending = VerdictOn(context, module);
  if (pending == nullptr || !pending->ready()) return std::nullopt;
  const debug::DivergeVerdict& verdict = **pending;
  if (verdict.status != debug::RunStatus::kDiffers) return std::nullopt;
  const AskedVerdict* const asked = AskedOn(context, module);
  if (asked == nullptr && !NamesPlatforms(verdict)) return std::nullopt;
  FailingRun run{module, 0, {}, "the verdict"};
  run.request.test.name = verdict.platform;
  // Stages are evaluated by the reference: what runs them otherwise is a compiler that has passes.
  const bool same = verdict.platform.empty() || verdict.platform == verdict.reference ||
                    verdict.platform == replay::ReferencePlatform().name;
  const replay::PlatformRow* compiler = replay::PlatformWith(replay::kDumps);
  if (same && compiler != nullptr) run.request.test.name = compiler->name;
  run.request.reference.name =
      verdict.reference.empty() ? std::string(replay::ReferencePlatform().name) : verdict.reference;
  run.request.inputs.seed = verdict.seed;
  if (asked != nullptr && asked->question.is_of_platforms()) {
    run.stage = asked->question.stage;
    run.request.compare.bounds = {asked->question.absolute, asked->question.relative};
    if (!asked->question.inputs.empty()) run.request.inputs.files = {asked->question.inputs};
  }
  return run;
}

}  // namespace

std::optional<FailingRun> FailingRunOf(Context& context, int32_t module) {
  std::optional<FailingRun> ran = OfExperiment(context.experiment, module);
  if (ran && debug::FailureOf(*context.experiment.report())) return ran;
  if (std::optional<FailingRun> told = OfVerdict(context, module)) return told;
  return ran;
}

std::string RunText(const debug::RunSpec& request) {
  std::string text = request.test.name;
  if (!request.reference.name.empty()) text += " against " + request.reference.name;
  if (request.compare.find) {
    text += *request.compare.find == debug::NonFiniteKind::kNan ? ", the first NaN"
                                                                : ", the first infinity";
  }
  return text + ", " + InputsText(request);
}

}  // namespace hloscope::viewer
