// Evaluating the stages of a compilation, then running what was compiled.
#include "core/debug/explain/passes/own_passes.h"

#include <algorithm>

#include "core/debug/explain/passes/before_xla.h"
#include "core/debug/explain/passes/explain_run.h"
#include "core/debug/explain/passes/failing_pass.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {

using hlo::Module;

namespace {

// What is not judged is not known.
Leaves Judged(Leaves results, std::span<const int64_t> judged) {
  for (size_t i = 0; i < results.size() && !judged.empty(); ++i) {
    if (std::ranges::find(judged, static_cast<int64_t>(i)) != judged.end()) continue;
    results[i] = std::unexpected(Error{ErrorClass::kUnsupported, "not judged", {}, {}});
  }
  return results;
}

}  // namespace

DivergeVerdict ExplainByPasses(const std::shared_ptr<const Module>& module,
                               const Pipeline& pipeline, const RunSpec& request,
                               const SourceModule& source, const std::stop_token& stop,
                               std::span<const int64_t> judged) {
  StageValues values(request, stop);
  const Result<Leaves> results = values.Begin(module);
  if (!results) return RefusedStart(*module, results.error());
  const auto& first = pipeline.form ? pipeline.form : module;
  const Result<Leaves> meant = pipeline.form ? values.Plain(first) : results;
  if (!meant) return RefusedStart(*first, meant.error());
  DivergeVerdict verdict = FindGuiltyPass(values, *meant, first, pipeline, stop);
  const replay::PlatformRow* const row = replay::FindPlatform(request.test.name);
  const bool has_passes = replay::ReadsFlag(request.test.name, replay::kDisablePassesFlag);
  if (row != nullptr && has_passes && !stop.stop_requested()) {
    PlatformTries tries(module, request, values, Judged(*results, judged), stop);
    ExplainRun(verdict, tries, values, pipeline, stop);
  }
  if (verdict.passes.empty() && !verdict.cause) {
    Result<std::shared_ptr<const Module>> made_of = nullptr;
    if (source) made_of = source();
    CheckBeforeXla(verdict, values, request, module, *results, made_of, stop);
  }
  const bool is_alone = verdict.to_compare == 0 && verdict.tries.empty() &&
                        request.compare.expect.empty() && !request.compare.recorded;
  if (verdict.status == RunStatus::kEqual && is_alone) {
    verdict.status = RunStatus::kUnsupported;
    verdict.errors.push_back({ErrorClass::kUnsupported,
                              "there is one stage only: nothing to compare it with",
                              {},
                              "dump with --xla_dump_hlo_pass_re=.*"});
    WriteSentence(verdict);
  }
  return verdict;
}

DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const Module>& module,
                                  const RunSpec& request, const std::stop_token& stop,
                                  std::span<const int64_t> judged) {
  const Result<OwnPipeline> own = CompilePipeline(module, request, stop);
  if (!own) {
    // Its first dump is of the module before optimizations.
    DivergeVerdict verdict = RefusedVerdict(own.error());
    if (verdict.status == RunStatus::kDied && !stop.stop_requested()) {
      verdict.cause = Cause::kBeforeXla;
      WriteSentence(verdict);
    }
    return verdict;
  }
  if (own->failed) return ExplainFailure(module, *own, request, stop);
  return ExplainByPasses(module, own->pipeline, request, {}, stop, judged);
}

bool FailsBehindPasses(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                       const std::stop_token& stop) {
  const Result<OwnPipeline> own = CompilePipeline(module, request, stop);
  if (!own.has_value() || !own->failed || own->pipeline.stages.empty()) return false;
  return own->pipeline.stages.back().name.contains("after_optimizations");
}

}  // namespace hloscope::debug
