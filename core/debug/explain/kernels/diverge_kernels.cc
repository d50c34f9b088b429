// From a run to a verdict on its kernels.
#include "core/debug/explain/kernels/diverge_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/counted.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/plain_run.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/exact_meaning.h"
#include "core/debug/explain/kernels/explain_program.h"
#include "core/debug/explain/kernels/explain_update_order.h"
#include "core/debug/explain/kernels/telling_operands.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {

using hlo::Module;
using replay::KernelOutcome;

namespace {

void Flatten(const runtime::Value& value, std::vector<Result<hlo::Literal>>& leaves) {
  if (!value.is_tuple()) return leaves.push_back(value.ToLiteral()), void();
  for (const runtime::Value& element : value.elements()) Flatten(element, leaves);
}

class KernelDivergence {
 public:
  KernelDivergence(const std::shared_ptr<const Module>& module, const RunSpec& request,
                   const RunSinks& sinks, const std::stop_token& stop)
      : module_(module),
        request_(request),
        sinks_(sinks),
        stop_(stop),
        verdict_(VerdictOn(request)) {}

  Result<DivergeVerdict> Run() {
    HLOSCOPE_TRY(RunPlain());
    RunSpec again = request_;
    again.inputs = again.inputs.With(plain_.arguments);
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<KernelOutcome> outcomes,
                              OutcomesOfKernels(module_, again, {}, stop_));
    Count(outcomes);
    HLOSCOPE_TRY(Settle());
    verdict_.finding = std::move(finding_);
    WriteSentence(verdict_);
    return std::move(verdict_);
  }

 private:
  // Of those beyond the bounds, and of those within.
  static constexpr size_t kMaxExplained = 16;

  Status RunPlain() {
    HLOSCOPE_ASSIGN_OR_RETURN(plain_, debug::RunPlain(module_, request_, sinks_, verdict_, stop_));
    for (const RunOutput& output : plain_.outputs) {
      if (!output.compared || output.comparison.equal()) continue;
      results_differ_ = true;
      if (!verdict_.worst) verdict_.worst = output.comparison;
    }
    return {};
  }

  void Count(const std::vector<KernelOutcome>& outcomes) {
    for (const KernelOutcome& outcome : outcomes) {
      if (!outcome.not_evaluated.empty()) {
        if (not_compared_++ == 0) verdict_.warnings.push_back(outcome.not_evaluated);
      } else if (outcome.same_bits == true) {
        ++finding_.same_bits;
      } else if (Differs(outcome)) {
        ++finding_.differing;
        beyond_.push_back(&outcome);
      } else {
        ++finding_.within_bounds;
        within_.push_back(&outcome);
      }
    }
    if (not_compared_ > 1) {
      verdict_.warnings.push_back(
          fmt::format("{} were not compared", Counted(not_compared_, "kernel")));
    }
  }

  bool Differs(const KernelOutcome& outcome) const {
    std::vector<Result<hlo::Literal>> actual, meant;
    Flatten(outcome.actual, actual);
    Flatten(outcome.meant, meant);
    if (actual.size() != meant.size()) return true;
    for (size_t i = 0; i < actual.size(); ++i) {
      if (!actual[i].has_value() || !meant[i].has_value()) return true;
      if (!meant[i]->shape().IsArray()) continue;
      if (!CompareArrays(*actual[i], *meant[i], request_.compare.bounds).equal()) return true;
    }
    return false;
  }

  // The first beyond the bounds that nothing explains; else the first within them that is not what
  // its instruction means to the bit, or beyond what its own roundings move; else the first.
  Status Settle() {
    std::optional<Explained> chosen;
    for (const KernelOutcome* outcome :
         std::span(beyond_).first(std::min(beyond_.size(), kMaxExplained))) {
      Explained explained{outcome, std::nullopt, ""};
      // What differs is reported, also where there was no time to say why.
      if (Status looked = Explain(explained, KernelDemand::kBounds); !looked) {
        if (stop_.stop_requested()) return looked;
        explained.why_none = "the cause of the difference is unknown: " + looked.error().ToString();
        chosen = std::move(explained);
        break;
      }
      const bool is_explained = explained.explanation && IsExplained(*explained.explanation);
      // What a switch of its arithmetic explains is checked against its roundings with that switch
      // thrown.
      if (is_explained && IsSwitched(explained.explanation->cause)) within_.push_back(outcome);
      if (!chosen || !is_explained) chosen = std::move(explained);
      if (!is_explained) break;
    }
    const auto is_open = [&chosen] {
      return !chosen || (chosen->explanation && IsExplained(*chosen->explanation));
    };
    if (is_open()) HLOSCOPE_TRY(SearchWithin(chosen));
    if (is_open()) SearchTelling(beyond_, chosen);
    if (is_open()) SearchTelling(within_, chosen);
    verdict_.status = results_differ_ || chosen ? RunStatus::kDiffers : RunStatus::kEqual;
    if (chosen) return Tell(*std::move(chosen));
    if (!results_differ_) return {};
    if (not_compared_ > 0) {
      verdict_.cause = Cause::kUnexplained;
      return {};
    }
    Leaves actual;
    for (const RunOutput& output : plain_.outputs) {
      actual.push_back(output.missing ? Result<hlo::Literal>(std::unexpected(*output.missing))
                                      : output.value);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(ProgramExplanation explained,
                              ExplainProgram(module_, request_, actual, plain_.arguments, stop_));
    verdict_.tries = std::move(explained.tries);
    // Whether it is, is measured afterwards (passes/explain_platforms.cc).
    verdict_.cause = explained.cause.value_or(Cause::kIllConditioned);
    if (explained.cause) verdict_.confirmed = true;
    verdict_.warnings.push_back(
        "no kernel differs on its own: small differences of several add up, compiler passes cause "
        "it, or it is in an instruction without a kernel");
    return {};
  }

  struct Explained {
    const KernelOutcome* outcome;
    std::optional<KernelExplanation> explanation;  // none: by itself it gives what is meant
    std::string why_none;
  };

  static bool IsExplained(const KernelExplanation& explanation) {
    constexpr std::array kFaults = {Cause::kMiscompile, Cause::kDirectedRounding, Cause::kRace,
                                    Cause::kUninitialised};
    return explanation.confirmed && std::ranges::find(kFaults, explanation.cause) == kFaults.end();
  }

  static bool IsSwitched(Cause cause) {
    return cause == Cause::kTf32 || cause == Cause::kTensorSums || cause == Cause::kFma ||
           cause == Cause::kDenormals;
  }

  Status SearchWithin(std::optional<Explained>& chosen) {
    for (const KernelOutcome* outcome :
         std::span(within_).first(std::min(within_.size(), kMaxExplained))) {
      if (!outcome->kernels_case) continue;
      HLOSCOPE_ASSIGN_OR_RETURN(const KernelQuestion question, QuestionOf(*outcome));
      Explained explained{outcome, std::nullopt, ""};
      // Of what is equal by the bounds a run that takes too long spoils no verdict.
      if (const Status looked =
              Explain(explained, MeansEveryBit(*question.alone) ? KernelDemand::kEveryBit
                                                                : KernelDemand::kRoundings);
          !looked) {
        verdict_.warnings.push_back(outcome->kernels + " was compared within the bounds only: " +
                                    looked.error().ToString());
        continue;
      }
      if (!explained.explanation || IsExplained(*explained.explanation)) continue;
      if (!Differs(*outcome)) {
        --finding_.within_bounds;
        ++finding_.differing;
      }
      chosen = std::move(explained);
      return {};
    }
    return {};
  }

  // Those that reduce, once more on operands that tell what a sum or a maximum lacks. A kernel is
  // accused that is beyond the bounds there, and beyond its roundings, and nothing explains it.
  void SearchTelling(std::span<const KernelOutcome* const> outcomes,
                     std::optional<Explained>& chosen) {
    for (const KernelOutcome* outcome : outcomes.first(std::min(outcomes.size(), kMaxExplained))) {
      auto accused = AccusedByTelling(*outcome);
      if (!accused.has_value()) {
        verdict_.warnings.push_back(outcome->kernels + " was not run on distinguishing operands: " +
                                    accused.error().ToString());
      } else if (*accused) {
        chosen = Explained{outcome, **std::move(accused), ""};
        chosen->explanation->warnings.push_back(
            "on its recorded operands the kernel is within the rounding error of its instruction; "
            "worst and slice are for operands of which a few in each sum or maximum are far larger "
            "than the others: it drops some of them or counts some twice");
        return;
      }
    }
  }

  Result<std::optional<KernelExplanation>> AccusedByTelling(const KernelOutcome& outcome) const {
    if (!outcome.kernels_case) return std::nullopt;
    HLOSCOPE_ASSIGN_OR_RETURN(KernelQuestion question, QuestionOf(outcome));
    auto told = WithTellingOperands(question);
    if (!told) return std::nullopt;
    KernelOutcome other = outcome;
    other.kernels_case = *std::move(told);
    HLOSCOPE_ASSIGN_OR_RETURN(question, QuestionOf(other));
    std::optional<KernelExplanation> accused;
    for (const KernelDemand demand : {KernelDemand::kRoundings, KernelDemand::kBounds}) {
      question.demand = demand;
      HLOSCOPE_ASSIGN_OR_RETURN(accused, ExplainKernel(question, request_, stop_));
      if (!accused || IsExplained(*accused)) return std::nullopt;
    }
    return accused;
  }

  Status Explain(Explained& explained, KernelDemand demand) {
    const KernelOutcome& outcome = *explained.outcome;
    if (!outcome.kernels_case) {
      explained.why_none = "the kernel was not run alone: " + outcome.why_no_case;
      return {};
    }
    HLOSCOPE_ASSIGN_OR_RETURN(KernelQuestion question, QuestionOf(outcome));
    question.demand = demand;
    question.other_compilations = [this, &outcome] { return OtherCompilations(outcome); };
    HLOSCOPE_ASSIGN_OR_RETURN(explained.explanation, ExplainKernel(question, request_, stop_));
    if (!explained.explanation) {
      explained.why_none =
          "alone, on the same bytes, the kernel computes its instruction correctly: the difference "
          "comes from something it reads in addition to its operands";
      if (demand == KernelDemand::kBounds) {
        Leaves actual, meant;
        Flatten(outcome.actual, actual);
        Flatten(outcome.meant, meant);
        explained.explanation = ExplainByUpdateOrder(question, actual, meant, request_);
      }
    }
    return {};
  }

  Status Tell(Explained chosen) {
    const KernelOutcome& outcome = *chosen.outcome;
    verdict_.place = DivergePlace{outcome.instruction, outcome.computation, outcome.path};
    verdict_.kernel = outcome.kernels;
    finding_.source = outcome.source;
    verdict_.cause = Cause::kUnexplained;
    if (chosen.explanation) {
      Take(*std::move(chosen.explanation));
    } else {
      verdict_.warnings.push_back(std::move(chosen.why_none));
    }
    return {};
  }

  void Take(KernelExplanation explained) {
    const KernelFinding counts = std::move(finding_);
    finding_ = std::move(explained.finding);
    finding_.same_bits = counts.same_bits;
    finding_.within_bounds = counts.within_bounds;
    finding_.differing = counts.differing;
    finding_.source = counts.source;
    verdict_.cause = explained.cause;
    verdict_.confirmed = explained.confirmed;
    verdict_.worst = std::move(explained.worst);
    verdict_.worst_is_of_place = true;
    verdict_.tries = std::move(explained.tries);
    if (!finding_.kernel.empty()) verdict_.kernel = finding_.kernel;
    if (finding_.line > 0) verdict_.ptx_line = finding_.line;
    if (!finding_.file.empty() && !request_.load.gpu_target.empty())
      verdict_.warnings.push_back(HowToKeep(finding_.file));
    verdict_.warnings.insert(verdict_.warnings.end(), explained.warnings.begin(),
                             explained.warnings.end());
  }

  // The PTX was compiled for this run and is gone with it.
  std::string HowToKeep(const std::string& file) const {
    const std::string& target = request_.load.gpu_target;
    return fmt::format(
        "{} was compiled for this run; `hloscope compile MODULE --with {} --target {} --dump DIR` "
        "keeps it",
        file, replay::PluginPlatform(replay::Devices::kGpu)->name, target);
  }

  struct Compilation {
    std::string what, target;
    std::vector<std::pair<std::string, std::string>> flags;
  };

  // Other tiles of the same device, then other devices.
  std::vector<Compilation> Compilations(const KernelOutcome& outcome) const {
    const std::string own =
        request_.load.gpu_target.empty() ? TargetOfCode(outcome) : request_.load.gpu_target;
    std::vector<Compilation> all;
    for (const int k : {32, 64, 128}) {
      const std::string tile = fmt::format(
          "block_m:32 block_n:32 block_k:{} split_k:1 num_stages:1 num_warps:4 num_ctas:1", k);
      all.push_back({fmt::format("compiled for {} with tiles of 32×32×{}", own, k),
                     own,
                     {{"xla_gpu_override_gemm_autotuner", tile}}});
    }
    for (const char* other : {"a100", "h100", "b200"}) {
      if (own != other) all.push_back({fmt::format("compiled for {}", other), other, {}});
    }
    return all;
  }

  // The device that the kernel in question was compiled for.
  static std::string TargetOfCode(const KernelOutcome& outcome) {
    for (const auto& [sm, name] : {std::pair("sm_10", "b200"), std::pair("sm_9", "h100")}) {
      if (outcome.kernels_case->code[0].text.find(fmt::format(".target {}", sm)) !=
          std::string::npos)
        return name;
    }
    return "a100";
  }

  std::vector<DivergeTry> OtherCompilations(const KernelOutcome& outcome) {
    std::vector<DivergeTry> tries;
    for (const Compilation& other : Compilations(outcome)) {
      if (stop_.stop_requested()) break;
      tries.push_back(TryCompilation(other));
      if (tries.back().closes == true) break;
    }
    return tries;
  }

  DivergeTry TryCompilation(const Compilation& other) {
    RunSpec again = request_;
    again.inputs = again.inputs.With(plain_.arguments);
    again.load.gpu_target = other.target;
    again.repeats.iterations = again.repeats.runs = 1;
    for (const auto& flag : other.flags) again.test.xla_flags.push_back(flag);
    const RunReport report = RunModule(module_, again, stop_);
    DivergeTry attempt{other.what, std::nullopt, ""};
    if (report.error) {
      attempt.detail = report.error->message;
      return attempt;
    }
    if (!report.executed || report.executed->kernels == 0) {
      attempt.detail = "no kernel ran";
      return attempt;
    }
    // What was handed to the evaluator says nothing about kernels of XLA.
    for (const auto& evaluated : report.executed->evaluated_ops) {
      if (evaluated.opcode != "fusion" && evaluated.opcode != "dot" &&
          evaluated.opcode != "custom-call")
        continue;
      attempt.detail = fmt::format("{} was computed by no kernel", evaluated.opcode);
      return attempt;
    }
    attempt.closes = report.status == RunStatus::kEqual;
    return attempt;
  }

  const std::shared_ptr<const Module>& module_;
  const RunSpec& request_;
  const RunSinks& sinks_;
  const std::stop_token& stop_;
  RunReport plain_;
  bool results_differ_ = false;
  int64_t not_compared_ = 0;                           // kernels
  std::vector<const KernelOutcome*> beyond_, within_;  // the bounds; none has all its bits
  KernelFinding finding_;
  DivergeVerdict verdict_;
};

}  // namespace

bool RunsSimulatedKernels(const RunSpec& request) {
  const replay::PlatformRow* row = replay::FindPlatform(request.test.name);
  return row != nullptr && row->Has(replay::kRunsDumps);
}

DivergeVerdict DivergeKernels(const std::shared_ptr<const Module>& module, const RunSpec& request,
                              const std::stop_token& stop, const RunSinks& sinks) {
  auto verdict = KernelDivergence(module, request, sinks, stop).Run();
  if (verdict.has_value()) return *std::move(verdict);
  return RefusedVerdict(std::move(verdict).error());
}

}  // namespace hloscope::debug
