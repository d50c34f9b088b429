// Every case of what three pairs of values can be to one another.
#include "core/compile/ordered_choice.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hlo/comparison.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComparisonDirection;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

namespace {

constexpr size_t kMaxValues = 2;
// Three arguments can be three numbers, in any order; floats can be equal and others, too. Two
// times what is compared, and one for the other zero.
constexpr std::array kIntegers = {0, 2, 4};
constexpr std::array kFloats = {0, 1, 2, 4};

using Values = std::vector<int>;

class Choice {
 public:
  Choice(const Module& module, hlo::ComputationId applied)
      : module_(module), computation_(module[applied]) {
    const auto parameters = module.Parameters(applied);
    count_ = parameters.size() / 2;
    for (const InstructionId parameter : parameters) {
      const hlo::Shape& shape = module.shape(parameter);
      is_known_ &= shape.IsScalar() && shape.element_type() != hlo::ElementType::kPred;
    }
    for (size_t i = 0; i < std::min(count_, kMaxValues); ++i) {
      is_float_[i] = hlo::IsFloat(module.shape(parameters[i]).element_type());
    }
    is_known_ &= count_ > 0 && count_ <= kMaxValues && parameters.size() == 2 * count_;
    for (const hlo::Instruction& i : module.instructions(computation_)) is_known_ &= IsKnown(i);
  }

  bool Holds() {
    if (!is_known_) return false;
    const std::vector<Values> all = All();
    // By numbers of values in `all`.
    const size_t n = all.size();
    std::vector<size_t> combined(n * n);
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) {
        const auto found = std::ranges::find(all, Combined(all[a], all[b]));
        if (found == all.end()) return false;
        combined[a * n + b] = static_cast<size_t>(found - all.begin());
      }
    }
    const auto f = [&](size_t a, size_t b) { return combined[a * n + b]; };
    for (size_t a = 0; a < n; ++a) {
      if (f(a, a) != a) return false;
      for (size_t b = 0; b < n; ++b) {
        for (size_t c = 0; c < n; ++c) {
          if (f(f(a, b), c) != f(a, f(b, c))) return false;
        }
      }
    }
    return true;
  }

 private:
  bool IsKnown(const hlo::Instruction& i) const {
    static constexpr hlo::OpcodeSet kKnown = {Opcode::kParameter, Opcode::kTuple, Opcode::kSelect};
    static constexpr hlo::OpcodeSet kLogical = {Opcode::kAnd, Opcode::kOr, Opcode::kNot};
    if (kKnown.Has(i.opcode)) return true;
    if (kLogical.Has(i.opcode)) {
      return module_[i.shape].element_type() == hlo::ElementType::kPred;
    }
    return i.opcode == Opcode::kCompare &&
           !hlo::IsComplex(module_.shape(module_.operands(i)[0]).element_type()) &&
           !hlo::IsTotalOrder(module_, i);
  }

  std::vector<Values> All() const {
    std::vector<Values> all = {{}};
    for (size_t i = 0; i < count_; ++i) {
      std::vector<Values> longer;
      for (const Values& values : all) {
        for (const int v : is_float_[i] ? std::span<const int>(kFloats) : kIntegers) {
          longer.push_back(values);
          longer.back().push_back(v);
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  Values Combined(const Values& left, const Values& right) {
    std::unordered_map<InstructionId, int> values;
    for (uint32_t k = 0; k < computation_.instruction_count; ++k) {
      const InstructionId id(computation_.first_instruction + k);
      const auto operand = [&](size_t i) { return values.at(module_.operands(id)[i]); };
      int& value = values[id];
      switch (module_[id].opcode) {
        case Opcode::kParameter: {
          const auto number =
              static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kParameterNumber));
          value = number < count_ ? left[number] : right[number - count_];
          break;
        }
        case Opcode::kSelect:
          value = operand(0) != 0 ? operand(1) : operand(2);
          break;
        case Opcode::kCompare:
          value = Compared(id, operand(0), operand(1)) ? 1 : 0;
          break;
        case Opcode::kAnd:
          value = operand(0) & operand(1);
          break;
        case Opcode::kOr:
          value = operand(0) | operand(1);
          break;
        case Opcode::kNot:
          value = 1 - operand(0);
          break;
        default:
          break;
      }
    }
    if (module_[computation_.root].opcode != Opcode::kTuple) return {values[computation_.root]};
    Values out;
    for (const InstructionId id : module_.operands(computation_.root)) out.push_back(values[id]);
    return out;
  }

  bool Compared(InstructionId id, int a, int b) const {
    const auto direction =
        static_cast<ComparisonDirection>(module_.GetInt(module_[id], AttributeKey::kDirection));
    a /= 2;
    b /= 2;
    switch (direction) {
      case ComparisonDirection::kEq:
        return a == b;
      case ComparisonDirection::kNe:
        return a != b;
      case ComparisonDirection::kLt:
        return a < b;
      case ComparisonDirection::kLe:
        return a <= b;
      case ComparisonDirection::kGt:
        return a > b;
      case ComparisonDirection::kGe:
        return a >= b;
    }
    return false;
  }

  const Module& module_;
  const hlo::Computation& computation_;
  size_t count_ = 0;
  std::array<bool, kMaxValues> is_float_{};
  bool is_known_ = true;
};

}  // namespace

bool IsOrderedChoice(const Module& module, hlo::ComputationId applied) {
  return Choice(module, applied).Holds();
}

}  // namespace hloscope::compile
