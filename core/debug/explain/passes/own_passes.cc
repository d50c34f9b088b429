// Evaluating the stages of a compilation, then running what was compiled.
#include "core/debug/explain/passes/own_passes.h"

#include <algorithm>
#include <chrono>

#include "core/debug/explain/passes/before_xla.h"
#include "core/debug/explain/passes/explain_run.h"
#include "core/debug/explain/passes/failing_pass.h"
#include "core/debug/explain/passes/find_pass.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {

using hlo::Module;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestTries(120);

// Refused where it says that they are equal and a result has no value, which was compared with
// nothing.
DivergeVerdict OnlyJudged(DivergeVerdict verdict, const Module& module, const Leaves& results) {
  auto missing = FirstMissing(results);
  if (!missing) return verdict;
  if (verdict.status == RunStatus::kEqual) return RefusedStart(module, *std::move(missing));
  verdict.warnings.push_back(missing->ToString());
  return verdict;
}

using ResultSets = std::span<const JudgedSet>;

// The stages are evaluated once.
std::vector<DivergeVerdict> ExplainEach(const std::shared_ptr<const Module>& module,
                                        const Pipeline& pipeline, const RunSpec& request,
                                        const SourceModule& source, ResultSets judged,
                                        const std::stop_token& stop) {
  const Clock::time_point end = Clock::now() + kLongestTries;
  StageValues values(request, stop);
  const Result<Leaves> results = values.Begin(module);
  if (!results) return std::vector(judged.size(), RefusedStart(*module, results.error()));
  const auto& first = pipeline.form ? pipeline.form : module;
  const Result<Leaves> meant = pipeline.form ? values.Plain(first) : results;
  if (!meant) return std::vector(judged.size(), RefusedStart(*first, meant.error()));
  const DivergeVerdict by_stages = FindGuiltyPass(values, *meant, first, pipeline, stop);
  const replay::PlatformRow* const row = replay::FindPlatform(request.test.name);
  const bool has_passes =
      row != nullptr && replay::ReadsFlag(request.test.name, replay::kDisablePassesFlag);
  std::vector<DivergeVerdict> verdicts;
  for (const JudgedSet& set : judged) {
    const bool goes_on = Clock::now() < end && !stop.stop_requested();
    if (!verdicts.empty() && !goes_on) break;
    DivergeVerdict& verdict = verdicts.emplace_back(by_stages);
    if (has_passes && !stop.stop_requested()) {
      PlatformTries tries(module, request, values, OnlyResults(*results, set.numbers), stop);
      ExplainRun(verdict, tries, values, pipeline, stop, set.opcode);
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
    verdict = OnlyJudged(std::move(verdict), *first, *meant);
  }
  return verdicts;
}

}  // namespace

DivergeVerdict ExplainByPasses(const std::shared_ptr<const Module>& module,
                               const Pipeline& pipeline, const RunSpec& request,
                               const SourceModule& source, const std::stop_token& stop) {
  const JudgedSet all;
  return ExplainEach(module, pipeline, request, source, {&all, 1}, stop).front();
}

DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const Module>& module,
                                  const RunSpec& request, const std::stop_token& stop) {
  const JudgedSet all;
  return ExplainEachByOwnPasses(module, request, {&all, 1}, stop).front();
}

std::vector<DivergeVerdict> ExplainEachByOwnPasses(const std::shared_ptr<const Module>& module,
                                                   const RunSpec& request, ResultSets judged,
                                                   const std::stop_token& stop) {
  const Result<OwnPipeline> own = CompilePipeline(module, request, stop);
  if (!own) {
    // Its first dump is of the module before optimizations.
    DivergeVerdict verdict = RefusedVerdict(own.error());
    if (verdict.status == RunStatus::kDied && !stop.stop_requested()) {
      verdict.cause = Cause::kBeforeXla;
      WriteSentence(verdict);
    }
    return std::vector(judged.size(), verdict);
  }
  if (own->failed) return std::vector(judged.size(), ExplainFailure(module, *own, request, stop));
  return ExplainEach(module, own->pipeline, request, {}, judged, stop);
}

bool FailsBehindPasses(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                       const std::stop_token& stop) {
  const Result<OwnPipeline> own = CompilePipeline(module, request, stop);
  if (!own.has_value() || !own->failed || own->pipeline.stages.empty()) return false;
  return own->pipeline.stages.back().name.contains("after_optimizations");
}

}  // namespace hloscope::debug
