// Recognizing comparators: a comparison of the same function of either element; or of the first of
// several such, of the second where those are equal, and so on.
#include "core/codegen/emit/sort_form.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/hlo/comparison.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ComparisonDirection;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

// Lines of up to this many elements are insertion-sorted, so that a comparator which is no order
// (NaN, by a comparison that is not total) gives what XLA:CPU's std::sort gives.
constexpr int64_t kShort = 16;

class Recognizer {
 public:
  explicit Recognizer(const Module& module) : module_(module) {}

  bool Add(InstructionId id) {
    if (keys_.size() == kMaxKeys) return false;
    const Opcode opcode = module_[id].opcode;
    if (opcode == Opcode::kCompare) {
      return AddCompare(id, ComparisonDirection::kLt) || AddCompare(id, ComparisonDirection::kGt);
    }
    if (opcode == Opcode::kOr) {
      return AddOr(Operand(id, 0), Operand(id, 1)) || AddOr(Operand(id, 1), Operand(id, 0));
    }
    return opcode == Opcode::kSelect && AddSelect(id);
  }
  std::vector<SortKey> Take() { return std::move(keys_); }

 private:
  static constexpr size_t kMaxKeys = 16;

  InstructionId Operand(InstructionId id, size_t i) const { return module_.operands(id)[i]; }
  ComparisonDirection Direction(InstructionId id) const {
    return static_cast<ComparisonDirection>(module_.GetInt(module_[id], AttributeKey::kDirection));
  }

  bool AddCompare(InstructionId id, ComparisonDirection direction) {
    if (Direction(id) != direction) return false;
    const InstructionId a = Operand(id, 0), b = Operand(id, 1);
    bool is_descending = direction == ComparisonDirection::kGt;
    InstructionId left = a;
    if (!AreMirrored(a, b)) {
      if (!AreMirrored(b, a)) return false;
      left = b;
      is_descending = !is_descending;
    }
    keys_.push_back({left, is_descending, hlo::IsTotalOrder(module_, module_[id])});
    return true;
  }

  // less | (equal & rest)
  bool AddOr(InstructionId less, InstructionId both) {
    if (module_[both].opcode != Opcode::kAnd) return false;
    for (const size_t k : {0, 1}) {
      if (AddThen(less, Operand(both, k), ComparisonDirection::kEq, Operand(both, 1 - k))) {
        return true;
      }
    }
    return false;
  }

  // equal ? rest : less, or unequal ? less : rest
  bool AddSelect(InstructionId id) {
    const InstructionId condition = Operand(id, 0), yes = Operand(id, 1), no = Operand(id, 2);
    return AddThen(no, condition, ComparisonDirection::kEq, yes) ||
           AddThen(yes, condition, ComparisonDirection::kNe, no);
  }

  // By `less` and, where `condition` says that its key is equal, by `rest`.
  bool AddThen(InstructionId less, InstructionId condition, ComparisonDirection direction,
               InstructionId rest) {
    const size_t so_far = keys_.size();
    if (module_[less].opcode == Opcode::kCompare && module_[condition].opcode == Opcode::kCompare &&
        Direction(condition) == direction && Add(less) && IsOfKey(condition, keys_.back()) &&
        Add(rest)) {
      return true;
    }
    keys_.resize(so_far);
    return false;
  }
  // True for a comparison of the key with the other element's.
  bool IsOfKey(InstructionId compare, const SortKey& key) {
    const InstructionId a = Operand(compare, 0), b = Operand(compare, 1);
    return hlo::IsTotalOrder(module_, module_[compare]) == key.is_total_order &&
           ((AreMirrored(key.value, b) && AreSame(key.value, a)) ||
            (AreMirrored(key.value, a) && AreSame(key.value, b)));
  }

  // True if `right` is of the right element what `left` is of the left one.
  bool AreMirrored(InstructionId left, InstructionId right) { return Are(left, right, 0, 1); }
  bool AreSame(InstructionId a, InstructionId b) { return Are(a, b, 0, 0); }

  bool Are(InstructionId a, InstructionId b, int64_t side_of_a, int64_t side_of_b) {
    checked_.clear();
    return Compare(a, b, side_of_a, side_of_b);
  }
  bool Compare(InstructionId a, InstructionId b, int64_t side_of_a, int64_t side_of_b) {
    if (checked_.contains({a, b})) return true;
    const Instruction &x = module_[a], &y = module_[b];
    if (x.opcode != y.opcode || module_.shape(a) != module_.shape(b)) return false;
    if (x.opcode == Opcode::kParameter) {
      const int64_t i = module_.GetInt(x, AttributeKey::kParameterNumber),
                    j = module_.GetInt(y, AttributeKey::kParameterNumber);
      return i / 2 == j / 2 && i % 2 == side_of_a && j % 2 == side_of_b;
    }
    if (x.opcode == Opcode::kConstant) {
      return std::ranges::equal(
          module_.Get<hlo::Literal>(x, AttributeKey::kConstantValue)->bytes(),
          module_.Get<hlo::Literal>(y, AttributeKey::kConstantValue)->bytes());
    }
    if (!SameAttributes(a, b)) return false;
    const auto left = module_.operands(a), right = module_.operands(b);
    if (left.size() != right.size()) return false;
    for (size_t k = 0; k < left.size(); ++k) {
      if (!Compare(left[k], right[k], side_of_a, side_of_b)) return false;
    }
    checked_.insert({a, b});
    return true;
  }
  // Of scalar instructions only comparisons have attributes that matter and are looked into.
  bool SameAttributes(InstructionId a, InstructionId b) const {
    const Opcode opcode = module_[a].opcode;
    if (opcode == Opcode::kCompare) {
      return Direction(a) == Direction(b) &&
             hlo::IsTotalOrder(module_, module_[a]) == hlo::IsTotalOrder(module_, module_[b]);
    }
    return opcode != Opcode::kMap && opcode != Opcode::kReducePrecision;
  }

  const Module& module_;
  std::vector<SortKey> keys_;
  std::set<std::pair<InstructionId, InstructionId>> checked_;
};

}  // namespace

std::optional<std::vector<SortKey>> SortFormOf(const Module& module, InstructionId sort) {
  const auto comparator = module.GetComputation(module[sort], AttributeKey::kToApply);
  Recognizer recognizer(module);
  if (!recognizer.Add(module[comparator].root)) return {};
  std::vector<SortKey> keys = recognizer.Take();
  const auto dimension =
      static_cast<size_t>(module.GetInts(module[sort], AttributeKey::kDimensions)[0]);
  const bool is_short = module.shape(module.operands(sort)[0]).dimension(dimension) <= kShort;
  const bool has_unordered = std::ranges::any_of(keys, [&](const SortKey& key) {
    return !key.is_total_order && IsFloat(module.shape(key.value).element_type());
  });
  if (is_short && has_unordered) return {};
  return keys;
}

}  // namespace hloscope::codegen
