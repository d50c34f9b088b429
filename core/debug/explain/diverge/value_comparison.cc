#include "core/debug/explain/diverge/value_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/analysis/place/boundaries.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using replay::CapturedForm;
using replay::CaptureForm;
using replay::CapturePlan;

namespace {

constexpr int kMaxRounds = 8;

CapturePlan PlanFor(std::vector<InstructionId> instructions, bool results) {
  CapturePlan plan;
  plan.results = results ? CaptureForm::kBytes : CaptureForm::kNone;
  plan.items.push_back({.instructions = std::move(instructions)});
  return plan;
}

// The instructions that points are of: the second part behind the last triple of a call.
InstructionId InstructionOf(const ProgramPoint& point) {
  return InstructionId(static_cast<uint32_t>(point[point.size() - 4]));
}

std::vector<InstructionId> InstructionsOf(const std::set<ProgramPoint>& points) {
  std::set<InstructionId> ids;
  for (const ProgramPoint& point : points) ids.insert(InstructionOf(point));
  return {ids.begin(), ids.end()};
}

}  // namespace

void ResultLists::Take(replay::RunEvent event) {
  auto* result = std::get_if<replay::LeafResult>(&event);
  if (result == nullptr) return;
  const auto list = static_cast<size_t>(result->device), leaf = static_cast<size_t>(result->leaf);
  lists.resize(std::max(lists.size(), list + 1));
  lists[list].resize(std::max(lists[list].size(), leaf + 1), InternalError("a result is missing"));
  lists[list][leaf] = std::move(result->value);
}

// Bytes while they fit, then hashes; with `only`, nothing else.
class ValueComparison::PlatformStream : public ResultLists {
 public:
  PlatformStream(const Module& module, int64_t keep_bytes, const std::set<ProgramPoint>* only)
      : module_(module), most_(keep_bytes), left_(keep_bytes), only_(only) {}

  void Take(replay::RunEvent event) override {
    auto* captured = std::get_if<replay::CapturedValue>(&event);
    if (captured == nullptr) return ResultLists::Take(std::move(event));
    ProgramPoint point = PointOf(module_, captured->key);
    if (only_ != nullptr && !only_->contains(point)) return;
    if (const auto* literal = std::get_if<Literal>(&captured->value)) {
      const auto bytes = static_cast<int64_t>(literal->bytes().size());
      if (bytes > most_) too_large.insert(point);
      if (bytes > left_) {
        captured->value = replay::FormOf(*literal, CaptureForm::kHash);
      } else {
        left_ -= bytes;
      }
    }
    values.insert_or_assign(std::move(point), std::move(captured->value));
  }

  std::map<ProgramPoint, CapturedForm> values;
  std::set<ProgramPoint> too_large;  // to be kept in any round

 private:
  const Module& module_;
  int64_t most_, left_;
  const std::set<ProgramPoint>* only_;
};

// Compares with what the platform told.
class ValueComparison::ReferenceStream : public ResultLists {
 public:
  explicit ReferenceStream(ValueComparison& owner, bool counts) : owner_(owner), counts_(counts) {}

  void Take(replay::RunEvent event) override {
    const auto* captured = std::get_if<replay::CapturedValue>(&event);
    if (captured == nullptr) return ResultLists::Take(std::move(event));
    const auto* expected = std::get_if<Literal>(&captured->value);
    const auto actual = owner_.kept_->values.find(PointOf(owner_.module_, captured->key));
    const bool is_told = actual != owner_.kept_->values.end() && expected != nullptr &&
                         !std::holds_alternative<Error>(actual->second);
    if (!is_told) {
      owner_.untold_ += counts_ ? 1 : 0;
      return;
    }
    if (counts_) ++owner_.executions_[captured->key.instruction.index];
    Compare(captured->key, actual->first, actual->second, *expected);
  }

 private:
  void Compare(const replay::ValueKey& key, const ProgramPoint& point, const CapturedForm& actual,
               const Literal& expected) {
    if (const auto* hash = std::get_if<uint64_t>(&actual)) {
      const auto own = std::get<uint64_t>(replay::FormOf(expected, CaptureForm::kHash));
      if (*hash != own) {
        (owner_.kept_->too_large.contains(point) ? owner_.too_large_ : owner_.pending_)
            .insert(point);
        return;
      }
      ++owner_.compared_count_;
      ++owner_.same_bits_;
      return;
    }
    const auto& literal = std::get<Literal>(actual);
    ++owner_.compared_count_;
    if (literal == expected) {
      ++owner_.same_bits_;
      return;
    }
    const bool is_single = owner_.single_.Of(key.instruction, static_cast<size_t>(key.leaf));
    const BoundsRequest bounds = is_single ? BoundsOfSingle(owner_.bounds_) : owner_.bounds_;
    owner_.differences_.insert_or_assign(
        point, ValueDifference{key, CompareArrays(literal, expected, bounds)});
  }

  ValueComparison& owner_;
  bool counts_;
};

ValueComparison::ValueComparison(const Module& module, CaptureSession& platform,
                                 CaptureSession& reference, const BoundsRequest& bounds,
                                 int64_t keep_bytes)
    : module_(module),
      single_(module),
      platform_(platform),
      reference_(reference),
      bounds_(bounds),
      keep_bytes_(keep_bytes) {}
ValueComparison::~ValueComparison() = default;

Status ValueComparison::Round(bool first) {
  const std::set<ProgramPoint> wanted = std::exchange(pending_, {});
  const CapturePlan plan =
      PlanFor(first ? analysis::BoundariesOf(module_) : InstructionsOf(wanted), first);
  auto kept = std::make_unique<PlatformStream>(module_, keep_bytes_, first ? nullptr : &wanted);
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run, platform_.Run(plan, *kept));
  if (first) {
    platform_us_ = run.run_us;
  } else {
    kept->lists = std::move(kept_->lists);
  }
  kept_ = std::move(kept);
  auto compared = std::make_unique<ReferenceStream>(*this, first);
  HLOSCOPE_TRY(reference_.Run(plan, *compared));
  if (!first) compared->lists = std::move(compared_->lists);
  compared_ = std::move(compared);
  return {};
}

bool ValueComparison::DoneBefore(const std::set<ProgramPoint>& pending) const {
  if (pending.empty()) return true;
  for (const auto& [point, difference] : differences_) {
    if (!difference.comparison.equal()) return point < *pending.begin();
  }
  return false;
}

Status ValueComparison::Run() {
  HLOSCOPE_TRY(Round(true));
  for (int round = 1; round < kMaxRounds && !DoneBefore(pending_); ++round) {
    HLOSCOPE_TRY(Round(false));
  }
  return {};
}

void ValueComparison::Summarise(ValueWalk& walk) const {
  walk.boundaries = std::ssize(analysis::BoundariesOf(module_));
  walk.compared = compared_count_;
  walk.same_bits = same_bits_;
  walk.untold = untold_;
  walk.left_out = std::ssize(pending_);
  walk.too_large = std::ssize(too_large_);
  std::map<uint32_t, size_t> places;
  for (const auto& [point, difference] : differences_) {
    const InstructionId id = difference.key.instruction;
    const LeafComparison& leaf = difference.comparison;
    const auto [place, is_new] = places.emplace(id.index, walk.curve.size());
    if (is_new) {
      WalkPoint made;
      made.instruction = module_.name(id);
      made.computation = module_[module_[module_[id].computation].name];
      made.opcode = hlo::ToString(module_[id].opcode);
      made.executions = executions_.contains(id.index) ? executions_.at(id.index) : 0;
      walk.curve.push_back(std::move(made));
    }
    WalkPoint& at = walk.curve[place->second];
    ++at.differing;
    at.diverging += leaf.equal() ? 0 : 1;
    walk.diverging += leaf.equal() ? 0 : 1;
    if (is_new || leaf.max_abs_error > at.max_abs_error) {
      at.worst_calls = CallsText(module_, difference.key);
    }
    at.max_abs_error = std::max(at.max_abs_error, leaf.max_abs_error);
    at.max_rel_error = std::max(at.max_rel_error, leaf.max_rel_error);
    at.max_ulp = std::max(at.max_ulp, leaf.max_ulp);
  }
}

const std::vector<Leaves>& ValueComparison::platform_results() const { return kept_->lists; }
const std::vector<Leaves>& ValueComparison::reference_results() const { return compared_->lists; }

Result<std::map<ProgramPoint, Literal>> ValueComparison::PlatformValues(
    const std::vector<replay::ValueKey>& keys) {
  std::map<ProgramPoint, Literal> values;
  std::set<ProgramPoint> missing;
  for (const replay::ValueKey& key : keys) {
    ProgramPoint point = PointOf(module_, key);
    const auto kept = kept_->values.find(point);
    const bool is_kept =
        kept != kept_->values.end() && std::holds_alternative<Literal>(kept->second);
    if (is_kept) {
      values.insert_or_assign(std::move(point), std::get<Literal>(kept->second));
    } else {
      missing.insert(std::move(point));
    }
  }
  if (missing.empty()) return values;
  PlatformStream stream(module_, keep_bytes_, &missing);
  HLOSCOPE_TRY(platform_.Run(PlanFor(InstructionsOf(missing), false), stream));
  for (const ProgramPoint& point : missing) {
    const auto told = stream.values.find(point);
    const bool is_told =
        told != stream.values.end() && std::holds_alternative<Literal>(told->second);
    if (!is_told) {
      return InputError(fmt::format("{}: the platform did not report its value",
                                    module_.name(InstructionOf(point))));
    }
    values.insert_or_assign(point, std::get<Literal>(told->second));
  }
  return values;
}

}  // namespace hloscope::debug
