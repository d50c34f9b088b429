// One thing is switched at a time, in the kernel or in what it is held to.
#include "core/debug/explain/kernels/explain_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/backends/gpusim/kernel_diagnosis.h"
#include "core/base/counted.h"
#include "core/debug/compare/difference_patterns.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/kernels/cause_tries.h"
#include "core/debug/explain/kernels/find_place.h"
#include "core/debug/explain/kernels/kernel_runs.h"
#include "core/debug/explain/kernels/look_first.h"
#include "core/debug/explain/kernels/settle_roundings.h"
#include "core/debug/explain/kernels/split_products.h"
#include "core/debug/explain/kernels/switch_causes.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;

namespace {

class Explainer {
 public:
  Explainer(const KernelQuestion& question, const RunSpec& request, const std::stop_token& stop)
      : question_(question), request_(request), stop_(stop), runs_(question, request, stop) {}

  Result<std::optional<KernelExplanation>> Run() {
    HLOSCOPE_ASSIGN_OR_RETURN(expected_, runs_.Evaluated(question_.alone));
    if (question_.demand == KernelDemand::kRoundings) {
      HLOSCOPE_ASSIGN_OR_RETURN(SettledRoundings settled, SettleByRoundings(runs_, expected_));
      if (settled.is_settled) return std::move(settled.directed);
      budget_ = std::move(settled.budget);
    }
    replay::KernelDiagnosis diagnosis = runs_.DiagnosisOf();
    diagnosis.switches = true;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::KernelDiagnosisAnswer answer,
                              runs_.Diagnose(diagnosis));
    HLOSCOPE_ASSIGN_OR_RETURN(actual_, runs_.ArraysIn(answer.memory));
    const size_t worst = WorstArray(actual_);
    if (worst == actual_.size()) return std::nullopt;
    out_.worst = Compare(worst, actual_[worst], expected_[worst]);
    // What was found out before stands.
    auto place = FindPlace(runs_, worst, actual_[worst], expected_[worst], out_);
    if (place.has_value()) {
      place_ = *std::move(place);
    } else {
      if (stop_.stop_requested()) return std::unexpected(place.error());
      out_.warnings.push_back("the thread that stored the worst element was not found: " +
                              place.error().ToString());
    }
    tries_.emplace(actual_, expected_, [this](size_t i, const Literal& a, const Literal& e) {
      return Compare(i, a, e);
    });
    TrySwitches(answer.switches);
    TryPartSums("", actual_);
    TryReferences();
    if (!tries_->cause()) Check();
    LookFirstAt(worst);
    Decide();
    const std::vector<DivergeTry> tries = tries_->Take();
    out_.tries.insert(out_.tries.begin(), tries.begin(), tries.end());
    return std::move(out_);
  }

 private:
  LeafComparison Compare(size_t array, const Literal& actual, const Literal& expected) const {
    if (budget_) return budget_->Compare(array, actual, expected);
    if (question_.demand == KernelDemand::kEveryBit)
      return CompareArrays(actual, expected, {.absolute = 0, .relative = 0});
    return CompareArrays(actual, expected, request_.compare.bounds);
  }

  // The array of the largest errors; their number where all agree.
  size_t WorstArray(const Arrays& arrays) const {
    size_t worst = arrays.size();
    double most = -1;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const LeafComparison leaf = Compare(i, arrays[i], expected_[i]);
      if (leaf.equal()) continue;
      const double error =
          leaf.nan_mismatched + leaf.inf_mismatched > 0 ? INFINITY : leaf.max_rel_error;
      if (error <= most) continue;
      most = error;
      worst = i;
    }
    return worst;
  }

  // The lines of the slice, and, where nothing explains the difference, those that make the results
  // right when they are written otherwise.
  void LookFirstAt(size_t array) {
    KernelFinding& finding = out_.finding;
    if (question_.demand == KernelDemand::kBounds) {
      finding.patterns = DifferencePatterns(
          actual_[array], expected_[array],
          BoundsFor(actual_[array].shape().element_type(), request_.compare.bounds));
    }
    replay::EditAnswer tried;
    if (!tries_->cause() && place_) {
      place_->expected = runs_.BytesOf(array, expected_[array]);
      for (size_t other = 0; other < expected_.size(); ++other) {
        if (other != array) AddTarget(other);
      }
      place_->lines = RankedLines(finding);
      place_->sizes = SizesIn(*question_.alone);
      replay::KernelDiagnosis diagnosis = runs_.DiagnosisOf();
      diagnosis.edits = std::move(place_);
      auto answer = runs_.Diagnose(diagnosis);
      if (answer.has_value()) {
        tried = std::move(answer->edits);
      } else {
        out_.warnings.push_back("no line was written otherwise: " + answer.error().ToString());
      }
    }
    if (tried.is_only_block) {
      finding.patterns.push_back(fmt::format("only block ({}, {}, {})", finding.block[0],
                                             finding.block[1], finding.block[2]));
    }
    finding.look_first = LinesToLookAt(finding, question_.kernels, tried.edits, explains_);
  }

  void AddTarget(size_t array) {
    const hlo::ElementType type = expected_[array].shape().element_type();
    std::vector<std::byte> bytes = runs_.BytesOf(array, expected_[array]);
    if (hlo::Info(type).bits < 8 || bytes.empty()) return;
    const ErrorBounds bounds = BoundsFor(type, request_.compare.bounds);
    place_->others.push_back({array, std::move(bytes), type, bounds.absolute, bounds.relative});
  }

  bool Agrees(const Arrays& arrays, const Arrays& expected, LeafComparison& worst) const {
    for (size_t i = 0; i < arrays.size(); ++i) {
      LeafComparison leaf = Compare(i, arrays[i], expected[i]);
      if (leaf.equal()) continue;
      worst = std::move(leaf);
      return false;
    }
    return true;
  }

  void TrySwitches(const std::vector<replay::SwitchedRun>& runs) {
    std::vector<Arrays> pushed;  // approximate functions, up and down
    for (const replay::SwitchedRun& run : runs) {
      const auto which = static_cast<ptx::Switch>(run.which);
      const ptx::SwitchRow& row = ptx::SwitchRows()[run.which];
      const std::string instructions = Counted(std::ssize(run.lines), "instruction");
      const std::string what = fmt::format("{} ({})", row.text, instructions);
      const bool was_open = !tries_->cause();
      auto arrays = run.error.empty() ? runs_.ArraysIn(run.memory) : InternalError(run.error);
      if (!arrays.has_value()) {
        tries_->NoteFailure(what, arrays.error());
      } else if (const auto cause = CauseOf(which)) {
        tries_->Note(what, *arrays, expected_, *cause);
        TryPartSums(", " + std::string(row.text), *arrays);
      } else {
        pushed.push_back(*std::move(arrays));
        if (pushed.size() == 2) tries_->NoteApproximations(instructions, pushed[0], pushed[1]);
      }
      if (was_open && tries_->cause() == CauseOf(which).value_or(Cause::kApproximation)) {
        explains_ = {pushed.size() == 2 ? "approximate functions within their documented bounds"
                                        : std::string(row.text),
                     run.lines};
      }
    }
  }

  // Partial products mean what they add up to.
  void TryPartSums(const std::string& switched, const Arrays& arrays) {
    if (tries_->cause() || arrays.size() != 1 ||
        !MayBeSplitProduct(*question_.alone, arrays[0].shape()))
      return;
    const ErrorBounds bounds = BoundsFor(arrays[0].shape().element_type(), request_.compare.bounds);
    if (!SameSums(arrays[0], expected_[0], bounds)) return;
    tries_->Add(
        {"partial products added up: how the kernel splits k is unspecified" + switched, true, ""});
    tries_->Close(Cause::kReductionOrder);
  }

  // The reference otherwise: what the kernel is then close to.
  void TryReferences() {
    const CauseTries::Evaluate evaluate = [this](const auto& module, const auto& arguments) {
      return runs_.Evaluated(module, arguments);
    };
    tries_->TryReferences(question_.alone, question_.arguments, evaluate);
    if (question_.demand == KernelDemand::kBounds) {
      tries_->TryConditioning(question_.alone, question_.arguments, request_.compare.bounds,
                              evaluate);
    }
  }

  // What the kernel does wrong with memory, whatever it computes.
  void Check() {
    replay::KernelDiagnosis diagnosis = runs_.DiagnosisOf();
    diagnosis.checks = true;
    auto answer = runs_.Diagnose(diagnosis);
    if (!answer.has_value()) {
      out_.warnings.push_back("the kernel was not checked for races: " + answer.error().ToString());
      return;
    }
    std::vector<replay::RunFinding>& found = out_.finding.checks;
    found = std::move(answer->findings);
    // What a race leaves uninitialised follows from it.
    const auto is_race = [](const replay::RunFinding& each) { return each.kind == "race"; };
    if (std::ranges::any_of(found, is_race)) std::erase_if(found, std::not_fn(is_race));
    constexpr size_t kMaxFindings = 10;
    if (found.size() > kMaxFindings) found.resize(kMaxFindings);
  }

  void Decide() {
    const KernelFinding& finding = out_.finding;
    const bool is_reference_missing =
        finding.reference_checked == 0 && finding.reference_difference.empty();
    if (!finding.reference_agrees && !is_reference_missing) {
      out_.warnings.push_back("the simulated GPU is not a reliable reference for this kernel: " +
                              finding.reference_difference);
    }
    // A fault of the simulated GPU explains nothing about XLA.
    if (!finding.reference_agrees && finding.reference_checked > 0 && IsContradicted()) return;
    if (const auto& closed = tries_->cause()) {
      out_.cause = *closed;
      out_.confirmed = true;
      return;
    }
    const auto has = [&](std::string_view kind) {
      return std::ranges::find(finding.checks, kind, &replay::RunFinding::kind) !=
             finding.checks.end();
    };
    if (has("race") || has("uninitialised")) {
      out_.cause = has("race") ? Cause::kRace : Cause::kUninitialised;
      out_.confirmed = true;
      return;
    }
    // Others are right within the bounds, as this one is.
    if (question_.demand == KernelDemand::kRoundings) return;
    // How often initial values are taken has been tried.
    if (const auto open = OpenMeaningOfKernel(); open && open->cause != Cause::kInitialValue) {
      out_.cause = open->cause;
      out_.confirmed = open->is_shown;
      if (open->is_shown) return;
    }
    if (!finding.reference_agrees || !question_.other_compilations) return;
    for (DivergeTry& attempt : question_.other_compilations()) {
      const bool right = attempt.closes == true;
      out_.tries.push_back(std::move(attempt));
      if (!right) continue;
      out_.cause = Cause::kMiscompile;
      out_.confirmed = true;
      return;
    }
  }

  std::optional<OpenCause> OpenMeaningOfKernel() const {
    std::vector<hlo::InstructionId> all;
    for (uint32_t i = 0; i < question_.alone->instructions().size(); ++i) all.emplace_back(i);
    return OpenMeaning({question_.alone, question_.arguments}, all, request_, stop_, actual_);
  }

  // The second implementation gave something else, and is not merely without the instruction.
  bool IsContradicted() const {
    return !out_.finding.reference_difference.ends_with("is not covered by the scalar reference");
  }

  const KernelQuestion& question_;
  const RunSpec& request_;
  const std::stop_token& stop_;
  const KernelRuns runs_;

  Arrays expected_, actual_;
  std::optional<RoundingBudget> budget_;
  std::optional<replay::EditTrials> place_;  // of the worst element
  std::optional<CauseTries> tries_;
  ExplainingSwitch explains_;
  KernelExplanation out_;
};

}  // namespace

Result<std::optional<KernelExplanation>> ExplainKernel(const KernelQuestion& question,
                                                       const RunSpec& request,
                                                       const std::stop_token& stop) {
  return Explainer(question, request, stop).Run();
}

}  // namespace hloscope::debug
