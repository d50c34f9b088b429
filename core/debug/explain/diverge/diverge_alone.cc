// From two platforms to a verdict, kernel by kernel.
#include "core/debug/explain/diverge/diverge_alone.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/debug/explain/diverge/computed_by.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/lone_kernels.h"
#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/diverge/optimised_module.h"
#include "core/debug/explain/diverge/plain_run.h"
#include "core/hlo/analysis/find_instruction.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;

namespace {

// It compiles, but takes no optimised module.
bool TakesSourceOnly(const std::string& platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(replay::kNeedsPython) && row->Has(replay::kDumps);
}

class LoneDivergence {
 public:
  LoneDivergence(const std::shared_ptr<const Module>& module, const RunSpec& request,
                 const RunSinks& sinks, const std::stop_token& stop)
      : module_(module),
        request_(request),
        sinks_(sinks),
        stop_(stop),
        verdict_(VerdictOn(request)) {}

  Result<DivergeVerdict> Run() {
    HLOSCOPE_ASSIGN_OR_RETURN(plain_, RunPlain(module_, request_, sinks_, verdict_, stop_));
    const std::string& compiler =
        TakesSourceOnly(request_.test.name) ? request_.test.name : request_.reference.name;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto optimized,
                              OptimisedModule(module_, request_, compiler, stop_));
    const std::vector<Literal> arguments = LeafArguments(plain_.arguments);
    const std::vector<int64_t> reached = Reached();
    HLOSCOPE_ASSIGN_OR_RETURN(LoneKernels kernels,
                              RunKernelsAlone(optimized, arguments, reached, request_, stop_));
    kernels.walk.reached = reached;
    kernels.walk.passes_differ =
        !kernels.walk.reached.empty() && PassesDiffer(optimized, arguments);
    verdict_.warnings.push_back(kernels.walk.bits);
    if (!kernels.not_run.empty()) {
      verdict_.warnings.push_back(fmt::format("{} could not be run alone, the first is {}",
                                              Counted(std::ssize(kernels.not_run), "instruction"),
                                              kernels.not_run[0]));
    }
    Settle(kernels, {optimized, arguments});
    verdict_.walk = std::move(kernels.walk);
    WriteSentence(verdict_);
    return std::move(verdict_);
  }

 private:
  std::vector<int64_t> Reached() {
    std::vector<int64_t> reached;
    for (size_t i = 0; i < plain_.outputs.size(); ++i) {
      const RunOutput& output = plain_.outputs[i];
      if (!output.compared || output.comparison.equal()) continue;
      reached.push_back(static_cast<int64_t>(i));
      if (!verdict_.worst) verdict_.worst = output.comparison;
    }
    return reached;
  }

  // The reference, too, gets something else from the optimised module.
  bool PassesDiffer(const std::shared_ptr<const Module>& optimized,
                    const std::vector<Literal>& arguments) const {
    const auto results = [&](const std::shared_ptr<const Module>& module,
                             const std::vector<Literal>& values) {
      return RunModule(module, AloneSpec(request_, request_.reference.name, values), stop_);
    };
    const RunReport was = results(module_, plain_.arguments), is = results(optimized, arguments);
    for (size_t i = 0; i < std::min(was.outputs.size(), is.outputs.size()); ++i) {
      if (was.outputs[i].missing || is.outputs[i].missing) continue;
      if (!CompareArrays(is.outputs[i].value, was.outputs[i].value, request_.compare.bounds)
               .equal()) {
        return true;
      }
    }
    return false;
  }

  void Settle(const LoneKernels& found, const Candidate& optimized) {
    const bool differs = !found.walk.reached.empty() || !found.kernels.empty();
    verdict_.status = differs ? RunStatus::kDiffers : RunStatus::kEqual;
    if (!differs) return;
    if (!found.aside.empty()) {
      verdict_.warnings.push_back(fmt::format(
          "{} differs on its own too, which no result that differs comes from", found.aside));
    }
    if (found.kernels.empty()) {
      verdict_.cause = Cause::kUnexplained;
      if (found.aside.empty()) verdict_.warnings.push_back("no kernel differs by itself");
      return;
    }
    const LoneKernel& first = found.kernels.front();
    verdict_.worst = first.worst;
    verdict_.worst_is_of_place = true;
    if (!first.together.empty()) {
      verdict_.warnings.push_back(fmt::format("{} differs only together with {}",
                                              first.place.instruction,
                                              fmt::join(first.together, ", ")));
    }
    std::vector<DivergeFinding> findings;
    for (const LoneKernel& kernel : found.kernels) {
      findings.push_back({.cause = CauseOf(kernel, optimized),
                          .place = kernel.place,
                          .kernel = kernel.place.instruction,
                          .results = kernel.results});
    }
    if (!found.unexplained.empty())
      findings.push_back({.cause = Cause::kUnexplained, .results = found.unexplained});
    SetFirstFinding(verdict_, findings.front());
    if (findings.size() > 1) verdict_.findings = std::move(findings);
  }

  Cause CauseOf(const LoneKernel& kernel, const Candidate& optimized) const {
    const hlo::InstructionId id = hlo::FindInstruction(*optimized.module, kernel.place.instruction);
    if (!id.valid()) return Cause::kCodeGeneration;
    // Both modules have the same results.
    const auto open = OpenOrder(optimized, {&id, 1}, request_, stop_, ResultLeaves(plain_));
    return open ? open->cause
                : ComputedBy(*optimized.module, id, request_.test.name, plain_.executed);
  }

  const std::shared_ptr<const Module>& module_;
  const RunSpec& request_;
  const RunSinks& sinks_;
  const std::stop_token& stop_;
  RunReport plain_;
  DivergeVerdict verdict_;
};

}  // namespace

bool RunsKernelsAlone(const RunSpec& request) {
  return request.test.run_passes &&
         (TakesSourceOnly(request.test.name) || TakesSourceOnly(request.reference.name));
}

DivergeVerdict DivergeAlone(const std::shared_ptr<const Module>& module, const RunSpec& request,
                            const std::stop_token& stop, const RunSinks& sinks) {
  auto verdict = LoneDivergence(module, request, sinks, stop).Run();
  if (verdict.has_value()) return *std::move(verdict);
  return RefusedVerdict(std::move(verdict).error());
}

}  // namespace hloscope::debug
