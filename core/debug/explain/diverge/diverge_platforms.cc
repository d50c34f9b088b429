#include "core/debug/explain/diverge/diverge_platforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <optional>
#include <utility>

#include "core/analysis/place/boundaries.h"
#include "core/debug/compare/compare_bits.h"
#include "core/debug/explain/diverge/computed_by.h"
#include "core/debug/explain/diverge/difference_paths.h"
#include "core/debug/explain/diverge/kernel_check.h"
#include "core/debug/explain/diverge/open_meaning.h"
#include "core/debug/explain/diverge/optimised_module.h"
#include "core/debug/explain/diverge/plain_run.h"
#include "core/debug/explain/diverge/value_comparison.h"
#include "core/debug/run/finding_text.h"
#include "core/hlo/analysis/single_precision.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;

namespace {

// How many divergent values are held to what they mean before amplified rounding is believed.
constexpr int kMaxChecks = 512;
constexpr size_t kMaxFindings = 8;

Status CheckCaptures(const std::string& platform) {
  HLOSCOPE_TRY(replay::CheckPlatform(platform));
  replay::CapturePlan plan;
  plan.items.push_back({replay::CaptureScope::kFusionBoundaries});
  return replay::CheckCapture(*replay::FindPlatform(platform), plan);
}

// A run that captures values of the optimised module.
RunSpec CapturingSpec(const RunSpec& run, const std::string& platform,
                      const std::vector<Literal>& arguments) {
  RunSpec capturing = DerivedSpec(run, TestOn(run, platform), run.inputs.With(arguments));
  capturing.test.run_passes = false;
  capturing.execution.verify = false;
  return capturing;
}

replay::CapturePlan Boundaries() {
  replay::CapturePlan plan;
  plan.items.push_back({replay::CaptureScope::kFusionBoundaries, replay::CaptureForm::kHash});
  return plan;
}

class PlatformDivergence {
 public:
  PlatformDivergence(const std::shared_ptr<const Module>& module, const RunSpec& request,
                     const RunSinks& sinks, std::stop_token stop, int64_t keep_bytes)
      : module_(module),
        request_(request),
        sinks_(sinks),
        stop_(std::move(stop)),
        keep_bytes_(keep_bytes),
        verdict_(VerdictOn(request)) {}

  Result<DivergeVerdict> Run() {
    HLOSCOPE_TRY(CheckCaptures(request_.test.name));
    HLOSCOPE_TRY(CheckCaptures(request_.reference.name));
    // The one runs in workers, the other in a child of its own.
    auto optimized = std::async(std::launch::async, [this] { return Optimise(); });
    const Status plain = RunPlain();
    const Status made = optimized.get();
    HLOSCOPE_TRY(plain);  // names what the platform refuses
    HLOSCOPE_TRY(made);
    arguments_ = optimized_ == module_ ? plain_.arguments : LeafArguments(plain_.arguments);
    HLOSCOPE_TRY(Walk());
    HLOSCOPE_TRY(CheckBits());
    CompareResults();
    FindPlace();
    Settle();
    return std::move(verdict_);
  }

 private:
  Status RunPlain() {
    HLOSCOPE_ASSIGN_OR_RETURN(plain_, debug::RunPlain(module_, request_, sinks_, verdict_, stop_));
    walk_.plain_ms = plain_.timing.run_us.empty() ? 0 : plain_.timing.run_us[0] / 1000;
    return {};
  }

  // The module that the compiling side really runs; the same module where no side compiles.
  Status Optimise() {
    optimized_ = module_;
    const bool ours = Compiles(request_.test.name);
    if (!request_.test.run_passes || (!ours && !Compiles(request_.reference.name))) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(
        optimized_, OptimisedModule(module_, request_,
                                    ours ? request_.test.name : request_.reference.name, stop_));
    return {};
  }

  Status Walk() {
    HLOSCOPE_ASSIGN_OR_RETURN(
        CaptureSession platform,
        CaptureSession::Open(optimized_, CapturingSpec(request_, request_.test.name, arguments_),
                             Boundaries(), stop_));
    platform_.emplace(std::move(platform));
    HLOSCOPE_ASSIGN_OR_RETURN(
        CaptureSession reference,
        CaptureSession::Open(optimized_,
                             CapturingSpec(request_, request_.reference.name, arguments_),
                             Boundaries(), stop_));
    reference_.emplace(std::move(reference));
    values_ = std::make_unique<ValueComparison>(*optimized_, *platform_, *reference_,
                                                request_.compare.bounds, keep_bytes_);
    HLOSCOPE_TRY(values_->Run());
    values_->Summarise(walk_);
    walk_.capture_ms = values_->platform_us() / 1000;
    return {};
  }

  // Capture changed no bit of the results, or it is said where.
  Status CheckBits() {
    const auto& lists = values_->platform_results();
    walk_.same_plain_bits = SameAsPlain(lists);
    if (walk_.same_plain_bits == true) {
      walk_.capture_keeps_bits = true;
      walk_.bits = "with capture every bit of the results is that of the plain run";
      return {};
    }
    HLOSCOPE_ASSIGN_OR_RETURN(
        CaptureSession session,
        CaptureSession::Open(optimized_, CapturingSpec(request_, request_.test.name, arguments_),
                             {}, stop_));
    ResultLists again;
    HLOSCOPE_TRY(session.Run({}, again));
    walk_.capture_keeps_bits = SameBits(Root(), lists, again.lists);
    if (!walk_.capture_keeps_bits) {
      walk_.bits = "whether capture keeps every bit is not known: a result has no value";
    } else if (*walk_.capture_keeps_bits) {
      walk_.bits = "with capture every bit of the results of the optimised module is the same";
      if (walk_.same_plain_bits != false) return {};
      walk_.bits += ", which without passes are not those of the plain run";
    } else {
      ResultLists once_more;
      HLOSCOPE_TRY(session.Run({}, once_more));
      varies_ = SameBits(Root(), again.lists, once_more.lists) == false;
      walk_.bits = varies_ ? fmt::format("{} is not deterministic: every run gives other bits",
                                         request_.test.name)
                           : "capture changes bits of the results";
    }
    verdict_.warnings.push_back(walk_.bits);
    return {};
  }

  const hlo::Shape& Root() const { return optimized_->shape(optimized_->entry().root); }

  // Absent where the results are not of one device, not of the same form, or not all there.
  std::optional<bool> SameAsPlain(const std::vector<Leaves>& lists) const {
    if (lists.size() != 1 || lists[0].size() != plain_.outputs.size()) return std::nullopt;
    Leaves plain;
    for (const RunOutput& output : plain_.outputs) {
      plain.push_back(output.missing ? Result<Literal>(std::unexpected(*output.missing))
                                     : output.value);
    }
    return SameBits(Root(), lists, {std::move(plain)});
  }

  // Which results differ in the plain run, and whether those of the optimised module do.
  void CompareResults() {
    for (size_t i = 0; i < plain_.outputs.size(); ++i) {
      const RunOutput& output = plain_.outputs[i];
      if (!output.compared || output.comparison.equal()) continue;
      walk_.reached.push_back(static_cast<int64_t>(i));
      if (!verdict_.worst) verdict_.worst = output.comparison;
    }
    if (walk_.reached.empty()) return;
    bool optimized_differs = false;
    const hlo::SinglePrecision single(*optimized_);
    const BoundsRequest &bounds = request_.compare.bounds, of_single = BoundsOfSingle(bounds);
    const auto &ours = values_->platform_results(), &theirs = values_->reference_results();
    for (size_t d = 0; d < std::min(ours.size(), theirs.size()); ++d) {
      for (size_t i = 0; i < std::min(ours[d].size(), theirs[d].size()); ++i) {
        if (!ours[d][i].has_value() || !theirs[d][i].has_value()) continue;
        if (!ours[d][i]->shape().IsArray()) continue;
        optimized_differs |=
            !CompareArrays(*ours[d][i], *theirs[d][i],
                           single.Of(optimized_->entry().root, i) ? of_single : bounds)
                 .equal();
      }
    }
    walk_.passes_differ = !optimized_differs;
  }

  // The first divergent value that its own instruction makes so; failing that, the first. Where
  // results differ, of those that lead to one; and for results that it does not lead to, the next.
  void FindPlace() {
    std::vector<bool> differs(optimized_->instructions().size());
    for (const auto& [point, difference] : values_->differences()) {
      if (!difference.comparison.equal()) differs[difference.key.instruction.index] = true;
    }
    const bool to_results = !walk_.reached.empty() && !walk_.passes_differ;
    if (to_results) unexplained_ = walk_.reached;
    DifferencePaths paths(*optimized_, differs, unexplained_);
    const auto leads = [&](const ValueDifference& difference) {
      return !to_results || paths.LeadsToResult(difference.key.instruction);
    };
    int checks = 0;
    std::string aside;  // the first that differs by itself and leads to no result
    for (const auto& [point, difference] : values_->differences()) {
      if (difference.comparison.equal()) continue;
      const bool may_be_guilty = leads(difference);
      if (!first_ && may_be_guilty) first_ = &difference;
      const bool is_wanted = may_be_guilty || (aside.empty() && guilty_.empty());
      if (!is_wanted || RunsOthers(difference.key.instruction)) continue;
      if (++checks > kMaxChecks) break;
      auto check =
          CheckKernel(*optimized_, difference.key, *values_, platform_->inputs(), request_, stop_);
      if (!check.has_value()) {
        ++unchecked_;
        if (unchecked_ == 1) verdict_.warnings.push_back(check.error().ToString());
        continue;
      }
      if (!check->differs()) continue;
      if (!may_be_guilty) {
        aside = optimized_->name(difference.key.instruction);
        continue;
      }
      guilty_.push_back({&difference, std::move(*check), {}});
      if (!to_results) break;
      guilty_.back().results =
          TakeResultsFrom(*optimized_, difference.key.instruction, differs, unexplained_);
      if (unexplained_.empty() || guilty_.size() == kMaxFindings) break;
      paths = DifferencePaths(*optimized_, differs, unexplained_);
    }
    if (!aside.empty())
      verdict_.warnings.push_back(
          fmt::format("{} differs on its own too, which no result that differs comes from", aside));
    all_checked_ = checks <= kMaxChecks && unchecked_ == 0;
  }

  // Loops, branches and calls whose insides are captured themselves.
  bool RunsOthers(InstructionId id) const {
    const hlo::Instruction& i = (*optimized_)[id];
    return hlo::Info(i.opcode).category == hlo::Category::kControl &&
           !analysis::IsKernelCall(*optimized_, i) && !hlo::HasFlag(i.opcode, hlo::kFlagDone);
  }

  DivergePlace PlaceOf(const replay::ValueKey& key) const {
    const Module& module = *optimized_;
    DivergePlace place{std::string(module.name(key.instruction)),
                       std::string(module[module[module[key.instruction].computation].name]),
                       CallsText(module, key),
                       std::string(ToString(module[key.instruction].opcode))};
    if (platform_->inputs().size() > 1) {
      place.calls += fmt::format("{}device {}", place.calls.empty() ? "" : ", ", key.device);
    }
    return place;
  }

  void Settle() {
    const bool differs = !walk_.reached.empty() || !guilty_.empty();
    verdict_.status = differs ? RunStatus::kDiffers : RunStatus::kEqual;
    if (!guilty_.empty()) {
      SettleGuilty();
    } else if (differs && first_ != nullptr && !walk_.passes_differ) {
      verdict_.place = PlaceOf(first_->key);
      verdict_.worst = first_->comparison;
      verdict_.worst_is_of_place = true;
      verdict_.cause = all_checked_ ? Cause::kIllConditioned : Cause::kUnexplained;
    }
    if (differs && varies_ && guilty_.empty()) verdict_.cause = Cause::kUninitialised;
    if (varies_) walk_.passes_differ = false;
    verdict_.walk = std::move(walk_);
    WriteSentence(verdict_);
  }

  // A kernel that is wrong by itself.
  struct Guilty {
    const ValueDifference* difference;
    KernelCheck check;
    std::vector<int64_t> results;  // that it leads to, and none before it
  };

  void SettleGuilty() {
    const Guilty& first = guilty_.front();
    verdict_.place = PlaceOf(first.difference->key);
    verdict_.worst = *std::ranges::find_if(
        first.check.leaves, [](const LeafComparison& leaf) { return !leaf.equal(); });
    verdict_.worst_is_of_place = true;
    verdict_.cause = Examine(first, walk_, verdict_.tries);
    if (guilty_.size() == 1 && unexplained_.empty()) return;
    verdict_.kernel = verdict_.place->instruction;
    verdict_.findings.push_back(OnlyFinding(verdict_));
    verdict_.findings.back().results = first.results;
    for (size_t i = 1; i < guilty_.size(); ++i) {
      ValueWalk walk;
      std::vector<DivergeTry> tries;
      const DivergePlace place = PlaceOf(guilty_[i].difference->key);
      const Cause cause = Examine(guilty_[i], walk, tries);
      verdict_.findings.push_back({.cause = cause,
                                   .place = place,
                                   .kernel = place.instruction,
                                   .results = guilty_[i].results,
                                   .tries = std::move(tries)});
    }
    if (unexplained_.empty()) return;
    verdict_.findings.push_back({.cause = Cause::kUnexplained, .results = unexplained_});
  }

  // Why the kernel is wrong; `walk` takes its distances and the place inside.
  Cause Examine(const Guilty& guilty, ValueWalk& walk, std::vector<DivergeTry>& tries) {
    if (Status measured = MeasureDistances(guilty.check, request_, walk, stop_); !measured) {
      verdict_.warnings.push_back("no value in double precision: " + measured.error().message);
    }
    auto inside = LookInside(guilty.check, request_, stop_);
    if (!inside.has_value()) {
      verdict_.warnings.push_back("the kernel could not be analysed: " + inside.error().message);
    } else {
      walk.inner = std::move(inside->first);
      if (inside->together_agree || !inside->together.empty()) {
        tries.push_back({"compile the instructions inside on their own", inside->together_agree,
                         std::move(inside->together)});
      }
    }
    return CheckMemory(guilty.check).value_or(CauseOf(guilty, walk));
  }

  // What the kernel does wrong with memory, where the GPU is a simulated one.
  std::optional<Cause> CheckMemory(const KernelCheck& check) {
    if (!replay::FindPlatform(request_.test.name)->Has(replay::kSimulatesGpu)) return std::nullopt;
    RunSpec checked = AloneSpec(request_, request_.test.name, check.arguments);
    checked.checks = {.races = true, .uninitialised = true};
    const RunReport report = RunModule(check.alone, checked, stop_);
    std::optional<Cause> cause;
    for (const replay::RunFinding& finding : report.checks) {
      verdict_.warnings.push_back(FindingText(finding));
      if (finding.kind == "race") cause = Cause::kRace;
      if (finding.kind == "uninitialised" && !cause) cause = Cause::kUninitialised;
    }
    return cause;
  }

  // A function, some ULP away from the value in double precision.
  static bool IsApproximated(const ValueWalk& walk) {
    constexpr double kMaxUlp = 1024;
    constexpr std::string_view kFunctions[] = {
        "acos", "acosh",        "asin",     "asinh", "atan2",       "atanh",
        "cbrt", "cosh",         "cosine",   "erf",   "exponential", "exponential-minus-one",
        "log",  "log-plus-one", "logistic", "power", "rsqrt",       "sine",
        "sinh", "sqrt",         "tan",      "tanh"};
    return walk.inner && walk.platform_distance &&
           std::ranges::find(kFunctions, walk.inner->opcode) != std::end(kFunctions) &&
           walk.platform_distance->class_mismatched == 0 &&
           walk.platform_distance->max_ulp <= kMaxUlp;
  }

  Cause CauseOf(const Guilty& guilty, const ValueWalk& walk) const {
    const Module& module = *optimized_;
    const InstructionId id = guilty.difference->key.instruction;
    const hlo::Opcode opcode = module[id].opcode;
    if (varies_) return Cause::kUninitialised;
    if (opcode == hlo::Opcode::kRng || opcode == hlo::Opcode::kRngBitGenerator ||
        opcode == hlo::Opcode::kRngGetAndUpdateState) {
      return Cause::kRandomNumbers;
    }
    if (IsApproximated(walk)) return Cause::kApproximation;
    const KernelCheck& check = guilty.check;
    std::vector<InstructionId> all;
    for (uint32_t i = 0; i < check.alone->instructions().size(); ++i) all.emplace_back(i);
    const Candidate alone = {check.alone, check.arguments};
    if (const auto open = OpenOrder(alone, all, request_, stop_, check.value)) return open->cause;
    return ComputedBy(module, id, request_.test.name, plain_.executed);
  }

  const std::shared_ptr<const Module>& module_;
  const RunSpec& request_;
  const RunSinks& sinks_;
  std::stop_token stop_;
  int64_t keep_bytes_;
  RunReport plain_;
  std::vector<Literal> arguments_;  // of the optimised module
  std::shared_ptr<const Module> optimized_;
  std::optional<CaptureSession> platform_, reference_;
  std::unique_ptr<ValueComparison> values_;
  ValueWalk walk_;
  const ValueDifference* first_ = nullptr;  // beyond the bounds
  std::vector<Guilty> guilty_;              // and by their own instructions
  std::vector<int64_t> unexplained_;        // results that none of these leads to
  int64_t unchecked_ = 0;
  bool all_checked_ = false;
  bool varies_ = false;  // the platform's results, from run to run
  DivergeVerdict verdict_;
};

}  // namespace

DivergeVerdict DivergePlatforms(const std::shared_ptr<const Module>& module, const RunSpec& request,
                                std::stop_token stop, int64_t keep_bytes, const RunSinks& sinks) {
  auto verdict = PlatformDivergence(module, request, sinks, std::move(stop), keep_bytes).Run();
  if (verdict.has_value()) return *std::move(verdict);
  return RefusedVerdict(std::move(verdict).error());
}

}  // namespace hloscope::debug
