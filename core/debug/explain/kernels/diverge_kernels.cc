// From a run to a verdict on its kernels.
#include "core/debug/explain/kernels/diverge_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/counted.h"
#include "core/debug/explain/diverge/difference_paths.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/plain_run.h"
#include "core/debug/explain/kernels/case_of_run.h"
#include "core/debug/explain/kernels/exact_meaning.h"
#include "core/debug/explain/kernels/explain_update_order.h"
#include "core/debug/explain/kernels/other_compilations.h"
#include "core/debug/explain/kernels/result_causes.h"
#include "core/debug/explain/kernels/telling_operands.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {

using hlo::Module;
using replay::KernelOutcome;

namespace {

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
  static constexpr size_t kMaxFindings = 8;

  Status RunPlain() {
    HLOSCOPE_ASSIGN_OR_RETURN(plain_, debug::RunPlain(module_, request_, sinks_, verdict_, stop_));
    for (size_t i = 0; i < plain_.outputs.size(); ++i) {
      const RunOutput& output = plain_.outputs[i];
      if (!output.compared || output.comparison.equal()) continue;
      reached_.push_back(static_cast<int64_t>(i));
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
    return IsBeyond(outcome, request_.compare.bounds);
  }

  // The first beyond the bounds that nothing explains; else the first within them that is not what
  // its instruction means to the bit, or beyond what its own roundings move; else the first.
  Status Settle() {
    std::optional<Explained> chosen;
    std::ranges::stable_partition(beyond_, [&](const KernelOutcome* outcome) {
      std::vector<int64_t> left = reached_;
      return !TakeLedTo(*outcome, left).empty();
    });
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
    verdict_.status = !reached_.empty() || chosen ? RunStatus::kDiffers : RunStatus::kEqual;
    if (chosen) {
      const KernelOutcome& outcome = *chosen->outcome;
      HLOSCOPE_TRY(Tell(*std::move(chosen)));
      FindOthers(outcome);
      return {};
    }
    if (reached_.empty()) return {};
    if (not_compared_ > 0) {
      verdict_.cause = Cause::kUnexplained;
      return {};
    }
    HLOSCOPE_ASSIGN_OR_RETURN(ProgramExplanation explained, program_.Run({}));
    verdict_.tries = std::move(explained.tries);
    // Whether it is, is measured afterwards (passes/explain_platforms.cc).
    verdict_.cause = explained.cause.value_or(Cause::kIllConditioned);
    if (explained.cause) verdict_.confirmed = true;
    if (!explained.cause && reached_.size() > 1) {
      std::vector<DivergeFinding> findings = program_.ExplainEach(reached_, kMaxFindings);
      if (!findings.empty()) {
        SetFirstFinding(verdict_, findings.front());
        verdict_.worst = plain_.outputs[static_cast<size_t>(findings[0].results[0])].comparison;
        if (findings.size() > 1) verdict_.findings = std::move(findings);
      }
    }
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
    question.other_compilations = [this, &outcome] {
      std::vector<int64_t> left = reached_;
      return OtherCompilations(module_, request_, plain_.arguments, outcome,
                               TakeLedTo(outcome, left), stop_);
    };
    HLOSCOPE_ASSIGN_OR_RETURN(explained.explanation, ExplainKernel(question, request_, stop_));
    if (!explained.explanation) {
      explained.why_none =
          "alone, on the same bytes, the kernel computes its instruction correctly: the difference "
          "comes from something it reads in addition to its operands";
      if (demand == KernelDemand::kBounds) {
        explained.explanation = ExplainByUpdateOrder(question, LeavesOf(outcome.actual),
                                                     LeavesOf(outcome.meant), request_);
      }
    }
    return {};
  }

  // Takes those results out of `left` that the kernel leads to. Its values were compared on its own
  // operands, which says nothing about those of the whole run.
  // Of several arrays those count that differ, of none beyond the bounds all.
  std::vector<int64_t> TakeLedTo(const KernelOutcome& outcome, std::vector<int64_t>& left) const {
    if (!outcome.program || left.empty()) return {};
    const Module& program = *outcome.program;
    const hlo::InstructionId id =
        hlo::FindInstruction(program, outcome.computation + ":" + outcome.instruction);
    if (!id.valid()) return {};
    const std::vector<bool> may_differ(program.instructions().size(), true);
    return TakeResultsFrom(program, id, may_differ, left,
                           LeavesBeyond(outcome, request_.compare.bounds));
  }

  // For results that the kernel of the verdict does not lead to: the first beyond the bounds that
  // does, and why; for those that none does, what is switched in all kernels.
  void FindOthers(const KernelOutcome& chosen) {
    if (reached_.empty()) return;
    std::vector<int64_t> left = reached_;
    DivergeFinding first = OnlyFinding(verdict_);
    first.results = TakeLedTo(chosen, left);
    if (first.results.empty()) {
      verdict_.warnings.push_back("it is not known which results come from " + chosen.instruction);
      return;
    }
    if (left.empty()) return;
    std::vector<DivergeFinding> findings = {std::move(first)};
    for (const KernelOutcome* outcome : beyond_) {
      if (left.empty() || findings.size() == kMaxFindings) break;
      if (outcome == &chosen) continue;
      std::vector<int64_t> results = TakeLedTo(*outcome, left);
      if (!results.empty()) findings.push_back(FindingOf(*outcome, std::move(results)));
    }
    if (!left.empty()) findings.push_back(program_.Explain(left));
    verdict_.findings = std::move(findings);
  }

  DivergeFinding FindingOf(const KernelOutcome& outcome, std::vector<int64_t> results) {
    DivergeFinding finding{
        .cause = Cause::kUnexplained,
        .place = DivergePlace{outcome.instruction, outcome.computation, outcome.path},
        .kernel = outcome.kernels,
        .results = std::move(results)};
    Explained explained{&outcome, std::nullopt, ""};
    Status looked = program_.CheckTime();
    if (looked) looked = Explain(explained, KernelDemand::kBounds);
    if (!looked) {
      finding.not_tried = looked.error().message;
    } else if (!explained.explanation) {
      finding.not_tried = std::move(explained.why_none);
    } else {
      KernelExplanation& why = *explained.explanation;
      finding.cause = why.cause;
      finding.confirmed = why.confirmed;
      finding.tries = std::move(why.tries);
      if (!why.finding.kernel.empty()) finding.kernel = std::move(why.finding.kernel);
      verdict_.warnings.insert(verdict_.warnings.end(), why.warnings.begin(), why.warnings.end());
    }
    return finding;
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

  const std::shared_ptr<const Module>& module_;
  const RunSpec& request_;
  const RunSinks& sinks_;
  const std::stop_token& stop_;
  RunReport plain_;
  std::vector<int64_t> reached_;  // results that differ
  const ResultCauses program_{module_, request_, plain_, stop_};
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
