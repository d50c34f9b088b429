#include "core/debug/explain/passes/meaning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "core/analysis/align/fingerprint.h"
#include "core/eval/numbers/precise.h"
#include "core/replay/capture/nonfinite_scan.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;

namespace {

constexpr double kDigits = 1e-2;  // values much smaller than one agree to these of the largest

// The largest finite magnitude; 0 where there is none.
double ScaleOf(const Literal& literal) {
  const auto range = replay::FiniteRangeOf(literal);
  return range ? std::max(std::abs(range->low), std::abs(range->high)) : 0;
}

LeafComparison CompareLeaf(const Literal& actual, const Literal& expected,
                           const BoundsRequest& bounds) {
  LeafComparison leaf = CompareArrays(actual, expected, bounds);
  const hlo::ElementType real = hlo::RealPart(expected.shape().element_type());
  if (!leaf.equal() || bounds.absolute || bounds.relative || !hlo::IsFloat(real)) return leaf;
  const double scale = ScaleOf(expected);
  const double relative = std::max(kDigits, leaf.bounds.relative);
  if (scale == 0 || scale * relative >= leaf.bounds.absolute) return leaf;
  return CompareArrays(actual, expected, {scale * relative, relative});
}

// Larger: worse. What is on one side only is worse than any distance.
double BadnessOf(const LeafComparison& leaf) {
  if (!leaf.problem.empty()) return INFINITY;
  const double alone = static_cast<double>(leaf.nan_mismatched + leaf.inf_mismatched);
  return alone > 0 ? 1e300 : leaf.max_abs_error;
}

// The results of both, in double precision, as the types of the results before are.
struct WidePair {
  Leaves before, after;
};
std::optional<WidePair> EvaluateWide(const StageValues& values,
                                     const std::shared_ptr<const Module>& before,
                                     const std::shared_ptr<const Module>& after) {
  Result<Leaves> b = values.Wide(before);
  if (!b) return std::nullopt;
  Result<Leaves> a = values.Wide(after);
  if (!a) return std::nullopt;
  return WidePair{*std::move(b), *std::move(a)};
}

// Rounded once to the types of `like`.
Leaves Narrowed(const Leaves& wide, const Leaves& like) {
  Leaves narrow;
  for (size_t i = 0; i < std::min(wide.size(), like.size()); ++i) {
    if (wide[i].has_value() && like[i].has_value()) {
      hlo::Shape shape = wide[i]->shape();
      if (shape.IsArray()) shape.set_element_type(like[i]->shape().element_type());
      narrow.push_back(eval::ConvertLiteral(*wide[i], shape));
    } else {
      narrow.push_back(wide[i]);
    }
  }
  return narrow;
}

// What is NaN or infinite on one side only is no rounding.
bool HasLostNumbers(const LeafComparison& leaf) {
  return leaf.nan_mismatched + leaf.inf_mismatched > 0;
}

// True if both mean the same in double precision and the later one is not the one that lost digits.
bool IsRounding(const StageValues& values, const std::shared_ptr<const Module>& before,
                const Leaves& results_before, const std::shared_ptr<const Module>& after,
                const Leaves& results_after) {
  const auto wide = EvaluateWide(values, before, after);
  if (!wide) return false;
  const BoundsRequest& bounds = values.request().compare.bounds;
  const Leaves truth = Narrowed(wide->before, results_before);
  if (WorstDifference(Narrowed(wide->after, results_before), truth, bounds)) return false;
  const bool was_right = !WorstDifference(results_before, truth, bounds);
  return !was_right || !WorstDifference(results_after, truth, bounds);
}

}  // namespace

bool HaveSameBits(const Leaves& a, const Leaves& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].has_value() && b[i].has_value() && !CompareArrays(*a[i], *b[i], {}).same_bits) {
      return false;
    }
  }
  return true;
}

std::vector<size_t> LeavesOfOtherMeaning(const StageValues& values,
                                         const std::shared_ptr<const Module>& before,
                                         const std::shared_ptr<const Module>& after,
                                         const Leaves& results_before) {
  std::vector<size_t> leaves;
  const auto wide = EvaluateWide(values, before, after);
  if (!wide) return leaves;
  const size_t count = std::min({wide->before.size(), wide->after.size(), results_before.size()});
  for (size_t i = 0; i < count; ++i) {
    const auto &b = wide->before[i], &a = wide->after[i];
    if (!a.has_value() || !b.has_value() || !results_before[i].has_value()) continue;
    if (!CompareRounded(*a, *b, results_before[i]->shape().element_type()).equal()) {
      leaves.push_back(i);
    }
  }
  return leaves;
}

LeafComparison CompareRounded(const Literal& actual, const Literal& expected,
                              hlo::ElementType type) {
  constexpr double kOfF32 = 8 * 0x1p-23, kOfF64 = 1e-9;
  const bool is_wide = hlo::RealPart(type) == hlo::ElementType::kF64;
  const double tolerance = is_wide ? kOfF64 : kOfF32;
  return CompareArrays(actual, expected, {tolerance * ScaleOf(expected), tolerance});
}

std::optional<LeafComparison> ChangeOfRounding(const StageValues& values,
                                               const std::shared_ptr<const Module>& before,
                                               const Leaves& results_before,
                                               const std::shared_ptr<const Module>& after,
                                               const Leaves& results_after) {
  constexpr BoundsRequest kExactly{0, 0};
  const BoundsRequest& bounds = values.request().compare.bounds;
  if (bounds.absolute || bounds.relative) return std::nullopt;  // the user has said what counts
  if (!eval::AsksForRounding(*before) && !eval::AsksForRounding(*after)) return std::nullopt;
  if (HaveSameBits(results_before, results_after)) return std::nullopt;
  const Result<Leaves> b = values.Rounded(before);
  if (!b) return std::nullopt;
  const Result<Leaves> a = values.Rounded(after);
  if (!a) return std::nullopt;
  std::optional<LeafComparison> worst;
  for (size_t i = 0; i < std::min({a->size(), b->size(), results_before.size()}); ++i) {
    if (!(*a)[i].has_value() || !(*b)[i].has_value() || !results_before[i].has_value() ||
        !results_after[i].has_value()) {
      continue;
    }
    const hlo::ElementType type = results_before[i]->shape().element_type();
    if (CompareRounded(*(*a)[i], *(*b)[i], type).equal()) continue;
    // What is said is how the results themselves move.
    LeafComparison leaf = CompareArrays(*results_after[i], *results_before[i], kExactly);
    if (leaf.equal()) continue;
    leaf.index = {static_cast<int64_t>(i)};
    if (!worst || BadnessOf(leaf) > BadnessOf(*worst)) worst = std::move(leaf);
  }
  // Another place to round at moves by no more than one ULP of the inputs does.
  const bool is_noise =
      worst && values.TryConditioning(before, results_after, results_before, 0).closes == true;
  return is_noise ? std::nullopt : worst;
}

std::vector<std::string> PrecisionAttributeChanges(const Module& before, const Module& after) {
  using hlo::AttributeKey;
  constexpr std::array kAsked = {AttributeKey::kOperandPrecision, AttributeKey::kAlgorithm,
                                 AttributeKey::kExponentBits, AttributeKey::kMantissaBits};
  const auto asked_of = [&](const Module& module) {
    std::map<std::string_view, const hlo::Instruction*> asked;
    for (const hlo::Instruction& i : module.instructions()) {
      const bool may_ask = hlo::Info(i.opcode).category == hlo::Category::kContraction ||
                           i.opcode == hlo::Opcode::kReducePrecision;
      if (may_ask) asked.emplace(module[i.name], &i);
    }
    return asked;
  };
  const auto text_of = [](const Module& module, const hlo::Instruction& i, AttributeKey key) {
    for (const hlo::Attribute& a : module.attributes(i)) {
      if (a.key == key) return analysis::AttributeKeyText(module, i, a);
    }
    return std::string();
  };
  std::vector<std::string> changes;
  const auto was = asked_of(before);
  for (const auto& [name, instruction] : asked_of(after)) {
    const auto old = was.find(name);
    if (old == was.end() || old->second->opcode != instruction->opcode) continue;
    for (const AttributeKey key : kAsked) {
      const std::string a = text_of(before, *old->second, key);
      const std::string b = text_of(after, *instruction, key);
      const auto shown = [](const std::string& text) { return text.empty() ? "default" : text; };
      if (a == b) continue;
      changes.push_back(
          fmt::format("{}: {} {} became {}", name, hlo::Info(key).text, shown(a), shown(b)));
    }
  }
  return changes;
}

std::optional<LeafComparison> WorstDifference(const Leaves& actual, const Leaves& expected,
                                              const BoundsRequest& bounds) {
  std::optional<LeafComparison> worst;
  int64_t differing = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (!actual[i].has_value() || !expected[i].has_value()) continue;
    LeafComparison leaf = CompareLeaf(*actual[i], *expected[i], bounds);
    if (leaf.equal()) continue;
    ++differing;
    leaf.index = {static_cast<int64_t>(i)};
    if (!worst || BadnessOf(leaf) > BadnessOf(*worst)) worst = std::move(leaf);
  }
  if (worst) worst->other_leaves = differing - 1;
  return worst;
}

int64_t MismatchedElements(const Leaves& actual, const Leaves& expected,
                           const BoundsRequest& bounds) {
  int64_t sum = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (actual[i].has_value() && expected[i].has_value())
      sum += CompareLeaf(*actual[i], *expected[i], bounds).mismatched;
  }
  return sum;
}

std::vector<size_t> DifferingLeaves(const Leaves& actual, const Leaves& expected,
                                    const BoundsRequest& bounds) {
  std::vector<size_t> leaves;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    if (WorstDifference({actual[i]}, {expected[i]}, bounds)) leaves.push_back(i);
  }
  return leaves;
}

std::optional<MeaningChange> ChangeOfMeaning(const StageValues& values,
                                             const std::shared_ptr<const Module>& before,
                                             const Leaves& results_before,
                                             const std::shared_ptr<const Module>& after,
                                             const Leaves& results_after) {
  auto worst = WorstDifference(results_after, results_before, values.request().compare.bounds);
  if (!worst) return std::nullopt;
  MeaningChange change{*std::move(worst), {}};
  if (!HasLostNumbers(change.worst) &&
      IsRounding(values, before, results_before, after, results_after)) {
    change.excuse = Cause::kRounding;
  } else if (values.TryConditioning(before, results_after, results_before).closes == true) {
    change.excuse = Cause::kIllConditioned;
  }
  return change;
}

}  // namespace hloscope::debug
