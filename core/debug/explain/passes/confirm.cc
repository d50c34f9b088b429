// Passes alone, and the front end's module evaluated.
#include "core/debug/explain/passes/confirm.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/compile/passes/pass.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/replay/run_targets.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kOnly = "xla_enable_hlo_passes_only";

// Older XLA takes the pipeline around a pass for a pass too.
std::string PassesAlone(const PassBlame& blame) {
  return blame.pipeline.empty() ? blame.pass : blame.pass + "," + blame.pipeline;
}

// What leaves every pass out but the guilty one.
std::pair<std::string, std::string> FlagOfAlone(const PassBlame& blame, std::string_view platform) {
  if (!replay::IsOwnCompiler(platform)) return {std::string(kOnly), PassesAlone(blame)};
  std::string others;
  for (const compile::PassRow& row : compile::kPasses) {
    if (row.name == blame.pass) continue;
    others += fmt::format("{}{}", others.empty() ? "" : ",", row.name);
  }
  return {std::string(replay::kDisablePassesFlag), others};
}

std::string WordsOfAlone(const PassBlame& blame, std::string_view platform) {
  if (replay::IsOwnCompiler(platform)) {
    return fmt::format("{} alone of all passes on {}", blame.pass, blame.file_before);
  }
  return fmt::format("--{}={} on {}", kOnly, PassesAlone(blame), blame.file_before);
}

Result<bool> RepeatsAlone(const PassBlame& blame, const RunSpec& run, const StageValues& values,
                          const Pipeline& pipeline, const std::stop_token& stop) {
  const auto before = std::ranges::find(pipeline.stages, blame.file_before, &PassStage::file);
  if (before == pipeline.stages.end()) return InputError("the stage before is not in the dump");
  RunSpec request = run;
  request.test.xla_flags.push_back(FlagOfAlone(blame, request.test.name));
  // Code may not be generated for what one pass alone leaves.
  HLOSCOPE_ASSIGN_OR_RETURN(const OwnPipeline own, CompilePipeline(before->module, request, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const Leaves was, values.Plain(before->module));
  const auto& after = own.pipeline.stages.back().module;
  HLOSCOPE_ASSIGN_OR_RETURN(const Leaves is, values.Plain(after));
  return WorstDifference(is, was, values.request().compare.bounds).has_value() ||
         ChangeOfRounding(values, before->module, was, after, is).has_value();
}

// What the compiler was given for the module of the tries.
Result<Leaves> MeantByFrontEnd(const PlatformTries& tries, const Pipeline& pipeline,
                               const std::stop_token& stop) {
  if (!tries.is_cut()) return tries.values().Plain(pipeline.stages.front().module);
  HLOSCOPE_ASSIGN_OR_RETURN(const OwnPipeline own,
                            CompilePipeline(tries.module(), tries.request(), stop));
  return tries.values().Plain(own.pipeline.stages.front().module);
}

}  // namespace

void ConfirmPass(DivergeVerdict& verdict, const PlatformTries& tries, const StageValues& values,
                 const Pipeline& pipeline, const std::stop_token& stop) {
  const PassBlame& blame = verdict.passes.front();
  if (std::ranges::find(verdict.cured_by, blame.pass) != verdict.cured_by.end()) {
    verdict.confirmed = true;
    return;
  }
  const auto repeated = RepeatsAlone(blame, tries.request(), values, pipeline, stop);
  DivergeTry attempt{WordsOfAlone(blame, tries.request().test.name), {}, ""};
  if (!repeated) {
    attempt.detail = repeated.error().message.substr(0, 200);
  } else {
    verdict.confirmed = *repeated;
    attempt.closes = false;
    attempt.detail = *repeated ? "the same change of the results" : "the results stay";
  }
  verdict.tries.push_back(std::move(attempt));
}

void ConfirmFrontEnd(DivergeVerdict& verdict, const PlatformTries& tries, const Pipeline& pipeline,
                     const std::stop_token& stop) {
  DivergeTry attempt{"the module that the compiler was given, on the reference", {}, ""};
  const Result<Leaves> meant = MeantByFrontEnd(tries, pipeline, stop);
  if (!meant) {
    attempt.detail = meant.error().message.substr(0, 200);
  } else {
    const auto differ =
        WorstDifference(tries.actual(), *meant, tries.values().request().compare.bounds);
    attempt.closes = !differ;
    if (differ) attempt.detail = ErrorPhrase(*differ);
    verdict.confirmed = !differ;
  }
  verdict.tries.push_back(std::move(attempt));
}

}  // namespace hloscope::debug
