// Compiling without one pass after the other.
#include "core/debug/explain/passes/failing_pass.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/explain/passes/platform_tries.h"
#include "core/debug/explain/passes/stage_values.h"

namespace hloscope::debug {
namespace {

constexpr size_t kMaxSuspects = 24;  // of those that left a stage
// A pass that fails leaves no stage behind, so these are tried in any case.
constexpr std::string_view kOftenGuilty[] = {
    "reshape-mover",
    "algsimp",
    "constant_folding",
    "simplify-while-loops",
    "simplify-sorts",
    "simplify-conditional",
    "transpose-folding",
    "permutation_sort_simplifier",
    "gather_expander",
    "scatter_expander",
    "slice-sinker",
    "reduce-window-rewriter",
    "fusion",
    "tree_reduction_rewriter",
    "copy-insertion",
    "dot-library-rewriter",
    "layout-assignment",
    "while-loop-invariant-code-motion",
};

// "….after_cse.before_algsimp.hlo.pb": algsimp; empty: nothing was to follow.
std::string PassBehind(std::string_view file) {
  constexpr std::string_view kBefore = ".before_";
  const size_t at = file.rfind(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = file.substr(at + kBefore.size());
  return std::string(rest.substr(0, rest.find('.')));
}

// The one that was to run behind the last stage, those that ran, the last first, and all others.
std::vector<std::string> PassesBackwards(const Pipeline& pipeline) {
  std::vector<std::string> passes;
  const auto add = [&](const std::string& pass) {
    if (pass.empty() || pass.starts_with("pipeline-") || passes.size() >= kMaxSuspects) return;
    if (std::ranges::find(passes, pass) == passes.end()) passes.push_back(pass);
  };
  for (auto stage = pipeline.stages.rbegin(); stage != pipeline.stages.rend(); ++stage) {
    if (stage->pipeline.empty()) continue;
    add(PassBehind(stage->file));
    add(stage->pass);
  }
  for (const std::string_view pass : kOftenGuilty) {
    if (std::ranges::find(passes, pass) == passes.end()) passes.emplace_back(pass);
  }
  return passes;
}

}  // namespace

DivergeVerdict ExplainFailure(const std::shared_ptr<const hlo::Module>& module,
                              const OwnPipeline& own, const RunSpec& request,
                              const std::stop_token& stop) {
  DivergeVerdict verdict = RefusedVerdict(*own.failed);
  const std::vector<std::string> passes = PassesBackwards(own.pipeline);
  // What takes too long would do so again without most passes.
  const bool is_late = own.failed->error_class == ErrorClass::kDeadlineExceeded;
  if (passes.empty() || is_late || stop.stop_requested()) return verdict;
  StageValues values(request, stop);
  Result<Leaves> expected = values.Begin(module);
  if (!expected) return verdict;
  verdict.platform = request.test.name;
  verdict.stages = static_cast<int64_t>(own.pipeline.stages.size());
  PlatformTries tries(module, request, values, *std::move(expected), stop);
  // Where it runs, no pass fails: only its stages could not be written.
  if (tries.AsItIs()) return verdict;
  std::vector<XlaFlagList> flags;
  for (const std::string& pass : passes) flags.push_back({{"xla_disable_hlo_passes", pass}});
  const std::vector<DivergeTry> done = tries.Run(flags);
  for (size_t i = 0; i < done.size(); ++i) {
    verdict.tries.push_back(done[i]);
    // What runs without it, right or wrong, no longer fails.
    if (!done[i].closes) continue;
    verdict.cured_by.push_back(passes[i]);
  }
  if (!verdict.cured_by.empty()) {
    const PassStage& last = own.pipeline.stages.back();
    PassBlame blame;
    blame.pass = verdict.cured_by.front();
    blame.pipeline = last.pipeline;
    blame.file_before = last.file;
    verdict.passes.push_back(std::move(blame));
    verdict.confirmed = true;
  }
  WriteSentence(verdict);
  return verdict;
}

}  // namespace hloscope::debug
