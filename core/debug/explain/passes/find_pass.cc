#include "core/debug/explain/passes/find_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "core/analysis/align/compare_modules.h"
#include "core/analysis/align/noted_alignment.h"
#include "core/base/counted.h"
#include "core/debug/explain/passes/find_edit.h"
#include "core/debug/explain/passes/find_edits.h"
#include "core/debug/explain/passes/meaning.h"
#include "core/debug/explain/passes/operation_changes.h"
#include "core/debug/explain/passes/other_operation.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/analysis/summary.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::Literal;
using hlo::Module;

namespace {

// Of constants whose elements a comparison of texts leaves out.
std::vector<uint64_t> LargeConstants(const Module& module) {
  constexpr int64_t kCompared = 10;
  std::vector<uint64_t> hashes;
  for (const hlo::Instruction& instruction : module.instructions()) {
    if (instruction.opcode != hlo::Opcode::kConstant) continue;
    const auto* literal = module.Get<Literal>(instruction, AttributeKey::kConstantValue);
    if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) continue;
    if (literal->shape().ElementCount().value_or(0) <= kCompared) continue;
    hashes.push_back(
        std::get<uint64_t>(replay::FormOf(Result<Literal>(*literal), replay::CaptureForm::kHash)));
  }
  std::ranges::sort(hashes);
  return hashes;
}

// Instructions that draw numbers, by how: one way gives other numbers than the next.
std::array<int64_t, 3> DrawsByKind(const Module& module) {
  std::array<int64_t, 3> draws{};
  for (const hlo::Instruction& instruction : module.instructions()) {
    if (instruction.opcode == hlo::Opcode::kRng) ++draws[0];
    if (instruction.opcode == hlo::Opcode::kRngGetAndUpdateState) ++draws[1];
    if (instruction.opcode != hlo::Opcode::kCustomCall) continue;
    if (module.GetString(instruction, AttributeKey::kCustomCallTarget) == "GetRngSeed") ++draws[2];
  }
  return draws;
}

// XLA's passes that may drop or add conversions between floats: names, or how they begin.
// docs/divergence.md has what each was seen to do.
bool MayChangeRounding(std::string_view pass) {
  constexpr std::string_view kPasses[] = {
      "simplify-fp-conversions", "float-normalization", "float_normalization",  "bfloat16",
      "change-op-data-type",     "convert-mover",       "cublas-gemm-rewriter", "cudnn-fused",
      "operand_upcaster",        "result_caster"};
  return std::ranges::any_of(kPasses, [&](std::string_view row) { return pass.starts_with(row); });
}

// True if a reduce-precision is gone or rounds to more bits, which no pass may do.
bool LosesRounding(const Module& before, const Module& after) {
  const auto coarse_of = [](const Module& module) {
    std::map<std::pair<int64_t, int64_t>, int64_t> coarse;
    for (uint32_t i = 0; i < module.instructions().size(); ++i) {
      const hlo::InstructionId id(i);
      if (!eval::IsCoarseRounding(module, id)) continue;
      ++coarse[{module.GetInt(module[id], AttributeKey::kExponentBits),
                module.GetInt(module[id], AttributeKey::kMantissaBits)}];
    }
    return coarse;
  };
  const auto left = coarse_of(after);
  return std::ranges::any_of(coarse_of(before), [&](const auto& was) {
    const auto found = left.find(was.first);
    return found == left.end();
  });
}

// A stage that was evaluated, or means the same as one that was.
struct Known {
  std::shared_ptr<const Module> module;
  Leaves results;
  std::string file, name;  // of the stage
};

class Sweep {
 public:
  Sweep(const StageValues& values, const std::stop_token& stop) : values_(values), stop_(stop) {}

  DivergeVerdict Run(const Leaves& results, const std::shared_ptr<const Module>& first,
                     const Pipeline& pipeline) {
    last_ = {first, results, "", ""};
    noted_ = pipeline.provenance;
    verdict_.stages = std::ssize(pipeline.stages) + std::ssize(pipeline.unread);
    verdict_.to_compare = verdict_.stages;
    verdict_.warnings = pipeline.notes;
    std::span<const UnreadStage> unread = pipeline.unread;
    for (size_t s = 0; s < pipeline.stages.size(); ++s) {
      if (stop_.stop_requested())
        return RefusedVerdict({ErrorClass::kCancelled, "cancelled", {}, {}});
      Skip(unread, s);
      Visit(pipeline.stages[s]);
    }
    Skip(unread, pipeline.stages.size());
    Conclude();
    return std::move(verdict_);
  }

 private:
  void Visit(const PassStage& stage) {
    if (HasSameText(*last_.module, *stage.module)) {
      if (last_.file.empty()) {
        --verdict_.to_compare;  // the module given
      } else {
        ++verdict_.compared;
      }
      skipped_.clear();
      last_.module = stage.module;
      last_.file = stage.file;
      last_.name = stage.name;
      return;
    }
    Result<Leaves> results = values_.Plain(stage.module);
    if (!results) {
      StepOver({stage.pass, stage.file + ": " + results.error().message});
      return;
    }
    if (const auto missing = FirstMissing(*results, last_.results)) {
      StepOver({stage.pass, stage.file + ": " + missing->message});
      return;
    }
    ++verdict_.evaluated;
    ++verdict_.compared;
    Judge(stage, *results);
    skipped_.clear();
    last_ = {stage.module, *std::move(results), stage.file, stage.name};
  }

  void StepOver(UnreadStage stage) {
    verdict_.stepped_over.push_back(stage.text);
    skipped_.push_back(std::move(stage));
  }
  // Of `unread` those that come before that stage.
  void Skip(std::span<const UnreadStage>& unread, size_t position) {
    for (; !unread.empty() && unread.front().position <= position; unread = unread.subspan(1))
      StepOver(unread.front());
  }

  void Judge(const PassStage& stage, const Leaves& results) {
    if (DrawsByKind(*last_.module) != DrawsByKind(*stage.module)) {
      Excuse(stage, Cause::kRandomNumbers);
      return;
    }
    for (const std::string& edit : PrecisionAttributeChanges(*last_.module, *stage.module)) {
      verdict_.warnings.push_back(fmt::format("{}: {}", stage.file, edit));
    }
    const auto change =
        ChangeOfMeaning(values_, last_.module, last_.results, stage.module, results);
    if ((!change || change->excuse) && JudgeOperation(stage, results, !change)) return;
    const bool may_hide = !change || change->excuse == Cause::kRounding;
    if (may_hide && JudgeRounding(stage, results)) return;
    if (!change) {
      if (!HaveSameBits(results, last_.results)) ++verdict_.within_bounds;
      return;
    }
    if (change->excuse) {
      Excuse(stage, *change->excuse);
      return;
    }
    if (IsGiven(stage)) {
      BlameFrontEnd(stage, results, change->worst);
      return;
    }
    PassBlame blame = BlameOf(stage, change->worst);
    blame.restores = Restores(results);
    if (!blame.restores) meant_ = last_.results;
    auto edit =
        FindEdit(values_, last_.module, stage.module, AlignmentWith(stage),
                 DifferingLeaves(results, last_.results, values_.request().compare.bounds), stop_);
    if (!edit) {
      verdict_.warnings.push_back(
          fmt::format("{}: the instruction was not found: {}", stage.file, edit.error().message));
    } else if (*edit) {
      blame.place = (*edit)->place;
      blame.edit = (*edit)->edit;
    }
    verdict_.passes.push_back(std::move(blame));
  }

  PassBlame BlameOf(const PassStage& stage, const LeafComparison& worst) const {
    PassBlame blame{.pass = stage.pass,
                    .pipeline = stage.pipeline,
                    .file_before = last_.file,
                    .file_after = stage.file,
                    .place = {},
                    .edit = {},
                    .worst = worst};
    for (const UnreadStage& skipped : skipped_) blame.or_passes.push_back(skipped.pass);
    return blame;
  }

  // True if the pass is blamed for an operation that it made another one of, though the values of
  // these inputs do not tell it from rounding.
  bool JudgeOperation(const PassStage& stage, const Leaves& results, bool within_bounds) {
    if (IsGiven(stage)) return false;
    auto other = FindOtherOperation(
        values_, last_.module, last_.results, stage.module, results,
        [&] { return AlignmentWith(stage); }, stop_);
    if (!other) return false;
    PassBlame blame = BlameOf(stage, other->worst);
    blame.within_bounds = within_bounds;
    blame.place = std::move(other->edit.place);
    blame.edit = std::move(other->edit.edit);
    meant_ = last_.results;
    verdict_.passes.push_back(std::move(blame));
    return true;
  }

  // True if the pass is blamed because it does not round what it should.
  bool JudgeRounding(const PassStage& stage, const Leaves& results) {
    const auto worst =
        ChangeOfRounding(values_, last_.module, last_.results, stage.module, results);
    if (!worst || IsGiven(stage)) return false;
    // A stage without a pipeline stands for many passes.
    const bool may_change = stage.pipeline.empty() || MayChangeRounding(stage.pass) ||
                            std::ranges::any_of(skipped_, MayChangeRounding, &UnreadStage::pass);
    if (may_change && !LosesRounding(*last_.module, *stage.module)) {
      verdict_.warnings.push_back(fmt::format(
          "{}: {} changed where values are rounded, which XLA allows it (excess precision): {}",
          stage.file, stage.pass, OtherValuesPhrase(*worst)));
      return false;
    }
    PassBlame blame = BlameOf(stage, *worst);
    blame.within_bounds =
        !WorstDifference(results, last_.results, values_.request().compare.bounds);
    const std::array<size_t, 1> leaf = {static_cast<size_t>(worst->index.front())};
    auto edit = FindEdit(values_, last_.module, stage.module, AlignmentWith(stage), leaf, stop_,
                         Sought::kRoundings);
    if (edit && *edit) {
      blame.place = (*edit)->place;
      blame.edit = (*edit)->edit;
    }
    meant_ = last_.results;
    verdict_.passes.push_back(std::move(blame));
    return true;
  }

  // Of the stage before with this one: as the compiler noted it, or guessed where it did not.
  analysis::Alignment AlignmentWith(const PassStage& stage) {
    if (!noted_.empty() && !last_.name.empty()) {
      const auto origins =
          dump::OriginsBetween(noted_, {last_.name, *last_.module}, {stage.name, *stage.module});
      auto exact =
          origins ? analysis::NotedAlignment(*last_.module, *stage.module, *origins) : std::nullopt;
      if (exact) return *std::move(exact);
      verdict_.warnings.push_back(
          fmt::format("provenance.txt does not fit {} and {}: links between them are guessed",
                      last_.file, stage.file));
    }
    return analysis::Align(*last_.module, *stage.module);
  }

  // Before any pass: what the compiler was given, in its own words.
  bool IsGiven(const PassStage& stage) const {
    return last_.file.empty() && stage.pipeline.empty();
  }

  // The module that was asked for went through another form, which changed its meaning.
  void BlameFrontEnd(const PassStage& stage, const Leaves& results, const LeafComparison& worst) {
    verdict_.cause = Cause::kConversion;
    verdict_.worst = worst;
    verdict_.warnings.push_back(stage.file + ": is not equivalent to the module given");
    auto edit =
        FindEdit(values_, last_.module, stage.module, AlignmentWith(stage),
                 DifferingLeaves(results, last_.results, values_.request().compare.bounds), stop_);
    if (!edit || !*edit) return;
    verdict_.place = (*edit)->place;
    verdict_.edit = (*edit)->edit;
  }

  // The results are again what they were before the pass that was blamed last.
  bool Restores(const Leaves& results) const {
    return meant_ && !WorstDifference(results, *meant_, values_.request().compare.bounds);
  }

  void Excuse(const PassStage& stage, Cause cause) {
    verdict_.cause = cause;
    verdict_.warnings.push_back(fmt::format("{}: not blamed: {}", stage.file, Describe(cause)));
  }

  // Why what the last passes did is not known; empty: it is.
  std::string Undecided() const {
    if (skipped_.empty()) return {};
    const std::string all = Counted(verdict_.to_compare, "stage");
    const std::string& why = skipped_.front().text;
    if (verdict_.compared == 0) return fmt::format("0 of {} could be compared: {}", all, why);
    const std::string last =
        skipped_.size() == 1 ? "the last" : fmt::format("the last {}", skipped_.size());
    return fmt::format("{} of {} could not be compared: {}", last, all, why);
  }

  void Conclude() {
    verdict_.undecided = std::ssize(skipped_);
    const bool is_given = verdict_.cause == Cause::kConversion;
    verdict_.status =
        verdict_.passes.empty() && !is_given ? RunStatus::kEqual : RunStatus::kDiffers;
    if (std::string why = Undecided(); verdict_.status == RunStatus::kEqual && !why.empty()) {
      verdict_.errors.push_back({ErrorClass::kUnsupported, std::move(why), {}, ""});
      verdict_.status = RunStatus::kUnsupported;
    }
    if (!verdict_.passes.empty()) {
      verdict_.cause.reset();
      verdict_.place = verdict_.passes.front().place;
      verdict_.edit = verdict_.passes.front().edit;
      verdict_.worst = verdict_.passes.front().worst;
    }
    WriteSentence(verdict_);
  }

  const StageValues& values_;
  const std::stop_token& stop_;
  Known last_;
  std::span<const dump::StageProvenance> noted_;
  std::vector<UnreadStage> skipped_;  // since the last stage that was compared
  std::optional<Leaves> meant_;       // results before the pass that was blamed last
  DivergeVerdict verdict_;
};

}  // namespace

int64_t DrawsOf(const Module& module) {
  int64_t all = 0;
  for (const int64_t draws : DrawsByKind(module)) all += draws;
  return all;
}

DivergeVerdict RefusedStart(const Module& module, Error error, const std::string& file) {
  error.place.file = file;
  DivergeVerdict verdict = RefusedVerdict(std::move(error));
  if (!hlo::ElidedConstants(module).empty()) verdict.cause = Cause::kElidedConstants;
  return verdict;
}

bool HasSameText(const Module& a, const Module& b) {
  return analysis::CompareModules(a, b).equal && LargeConstants(a) == LargeConstants(b);
}

DivergeVerdict FindGuiltyPass(const StageValues& values, const Leaves& results,
                              const std::shared_ptr<const Module>& first, const Pipeline& pipeline,
                              const std::stop_token& stop) {
  return Sweep(values, stop).Run(results, first, pipeline);
}

DivergeVerdict FindDifference(StageValues& values, const std::shared_ptr<const Module>& first,
                              const std::shared_ptr<const Module>& second, const ModuleFiles& files,
                              const std::stop_token& stop) {
  const Result<Leaves> results = values.Begin(first);
  if (!results) return RefusedStart(*first, results.error(), files.first);
  const Result<Leaves> meant = values.Plain(second);
  if (!meant) return RefusedStart(*second, meant.error(), files.second);
  DivergeVerdict verdict;
  verdict.status = RunStatus::kEqual;
  verdict.bounds = BoundsPhrase(*results, values.request().compare.bounds);
  verdict.warnings = PrecisionAttributeChanges(*first, *second);
  const auto change = ChangeOfMeaning(values, second, *meant, first, *results);
  if (change) {
    verdict.status = RunStatus::kDiffers;
    verdict.worst = change->worst;
    verdict.cause = change->excuse;
  }
  const bool is_first = FirstMissing(*results).has_value();
  if (const auto missing = is_first ? FirstMissing(*results) : FirstMissing(*meant)) {
    const std::string& file = is_first ? files.first : files.second;
    if (!change) return RefusedStart(is_first ? *first : *second, *missing, file);
    verdict.warnings.push_back(fmt::format("{}: {}", file, missing->ToString()));
  }
  const auto align = [&] { return analysis::Align(*second, *first); };
  if (!change || change->excuse) {
    if (auto other = FindOtherOperation(values, second, *meant, first, *results, align, stop)) {
      verdict.cause.reset();
      if (verdict.status == RunStatus::kEqual)
        verdict.operations = OperationsThatDiffer(*first, *second);
      verdict.worst = other->worst;
      verdict.place = std::move(other->edit.place);
      verdict.edit = std::move(other->edit.backwards);
      WriteSentence(verdict);
      return verdict;
    }
  }
  if (!change) {
    verdict.operations = OperationsThatDiffer(*first, *second);
    verdict.worst = WorstDifference(*results, *meant, {0, 0});
    if (const auto bits = ChangeOfRounding(values, second, *meant, first, *results)) {
      verdict.warnings.push_back("within the bounds, but no rounding alone: " +
                                 OtherValuesPhrase(*bits));
    }
    WriteSentence(verdict);
    return verdict;
  }
  FindEdits(values, second, first,
            DifferingLeaves(*results, *meant, values.request().compare.bounds), stop, verdict);
  if (!verdict.findings.empty()) {
    const std::vector<int64_t>& own = verdict.findings.front().results;
    const auto worst = WorstDifference(OnlyResults(*results, own), OnlyResults(*meant, own),
                                       values.request().compare.bounds);
    if (worst) verdict.worst = *worst;
  }
  WriteSentence(verdict);
  return verdict;
}

}  // namespace hloscope::debug
