// Interval arithmetic over a module, operands before users.
#include "core/replay/inputs/value_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/eval/numbers/wide.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;

namespace {

constexpr double kSmallest = std::numeric_limits<double>::min();

Interval OfLiteral(const Literal& literal) {
  const hlo::ElementType type = literal.shape().element_type();
  if (literal.elided() || !literal.shape().IsArray() || hlo::IsComplex(type)) return {};
  const auto size = static_cast<int64_t>(hlo::StorageBytes(type));
  const int64_t count = static_cast<int64_t>(literal.bytes().size()) / size;
  Interval range{kInfinity, -kInfinity};
  std::array<double, 256> block;
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(block.size())) {
    const int64_t n = std::min<int64_t>(count - at, static_cast<int64_t>(block.size()));
    eval::LoadAs<double>(type, literal.bytes().data() + at * size, block.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      const double value = block[static_cast<size_t>(i)];
      if (std::isnan(value)) return {};
      range = Union(range, Interval::Only(value));
    }
  }
  return count == 0 ? Interval() : range;
}

// Products with 0 · inf taken as 0.
double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Interval Product(const Interval& a, const Interval& b) {
  const auto [low, high] = std::minmax(
      {Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high)});
  return {low, high};
}

Interval Sum(const Interval& a, const Interval& b) { return {a.low + b.low, a.high + b.high}; }
Interval Difference(const Interval& a, const Interval& b) {
  return {a.low - b.high, a.high - b.low};
}
Interval Larger(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high)};
}
Interval Smaller(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

Interval Absolute(const Interval& a) {
  if (a.low >= 0) return a;
  if (a.high <= 0) return {-a.high, -a.low};
  return {0, std::max(-a.low, a.high)};
}

// The remainder has the dividend's sign and is smaller than the divisor.
Interval Remainder(const Interval& a, const Interval& b, bool integer) {
  const Interval divisor = Absolute(b);
  const double most = divisor.high - (integer && std::isfinite(divisor.high) ? 1 : 0);
  const double bound = std::min(most, Absolute(a).high);
  return {a.low >= 0 ? 0 : -bound, a.high <= 0 ? 0 : bound};
}

class Ranger {
 public:
  Ranger(const Module& module, const std::vector<Interval>& known)
      : module_(module), known_(known) {}

  Interval Of(InstructionId id) const {
    const hlo::Shape& shape = module_.shape(id);
    if (!shape.IsArray()) return {};
    const Interval type = RangeOfType(shape.element_type());
    const Interval range = Raw(id);
    // Integers that may leave their type wrap.
    return range.Inside(type) ? range : type;
  }

 private:
  Interval Operand(InstructionId id, size_t slot) const {
    return known_[module_.operands(id)[slot].index];
  }

  Interval UnionOfOperands(InstructionId id, size_t first) const {
    Interval range = Operand(id, first);
    for (size_t i = first + 1; i < module_.operands(id).size(); ++i) {
      range = Union(range, Operand(id, i));
    }
    return range;
  }

  // The root of a computation that comes before its caller.
  Interval OfRoot(InstructionId caller, AttributeKey key) const {
    const hlo::ComputationId callee = module_.GetComputation(module_[caller], key);
    if (!callee.valid()) return {};
    const InstructionId root = module_[callee].root;
    return root.index < caller.index && module_.shape(root).IsArray() ? known_[root.index]
                                                                      : Interval();
  }

  Interval Iota(InstructionId id) const {
    const auto dimension =
        static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIotaDimension));
    const hlo::Shape& shape = module_.shape(id);
    if (dimension >= shape.rank() || shape.dimension(dimension) <= 0) return {};
    return {0, static_cast<double>(shape.dimension(dimension) - 1)};
  }

  Interval And(InstructionId id) const {
    const Interval a = Operand(id, 0), b = Operand(id, 1);
    if (a.low < 0 && b.low < 0) return {};
    if (a.low < 0) return {0, b.high};
    if (b.low < 0) return {0, a.high};
    return {0, std::min(a.high, b.high)};
  }

  Interval Raw(InstructionId id) const {
    static constexpr hlo::OpcodeSet kSameValues = {
        Opcode::kBroadcast, Opcode::kReshape,        Opcode::kTranspose, Opcode::kCopy,
        Opcode::kSlice,     Opcode::kReverse,        Opcode::kGather,    Opcode::kDynamicSlice,
        Opcode::kConvert,   Opcode::kReducePrecision};
    const Opcode opcode = module_[id].opcode;
    if (kSameValues.Has(opcode)) return Operand(id, 0);
    if (opcode == Opcode::kIota) return Iota(id);
    if (opcode == Opcode::kConcatenate || opcode == Opcode::kPad) return UnionOfOperands(id, 0);
    if (opcode == Opcode::kSelect) return UnionOfOperands(id, 1);
    if (opcode == Opcode::kFusion) return OfRoot(id, AttributeKey::kCalls);
    if (opcode == Opcode::kCall) return OfRoot(id, AttributeKey::kToApply);
    if (opcode == Opcode::kConstant) {
      const auto* literal = module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
      return literal == nullptr ? Interval() : OfLiteral(*literal);
    }
    if (opcode != Opcode::kBitcast) return Arithmetic(id);
    const auto from = module_.shape(module_.operands(id)[0]).element_type();
    return from == module_.shape(id).element_type() ? Operand(id, 0) : Interval();
  }

  Interval Arithmetic(InstructionId id) const {
    using enum hlo::Opcode;
    using Function = Interval (*)(const Interval&, const Interval&);
    static constexpr hlo::OpcodeTable<Function> kFunctions = {{kAdd, Sum},
                                                              {kSubtract, Difference},
                                                              {kMultiply, Product},
                                                              {kMaximum, Larger},
                                                              {kMinimum, Smaller}};
    const Opcode opcode = module_[id].opcode;
    const auto operands = module_.operands(id);
    const bool integer = hlo::IsInteger(module_.shape(id).element_type());
    if (opcode == kMultiply && operands[0] == operands[1] && !integer) {
      const Interval factor = Absolute(Operand(id, 0));
      return {factor.low * factor.low, factor.high * factor.high};
    }
    if (const Function function = kFunctions[opcode])
      return function(Operand(id, 0), Operand(id, 1));
    if (opcode == kNegate) return {-Operand(id, 0).high, -Operand(id, 0).low};
    if (opcode == kAbs) return Absolute(Operand(id, 0));
    if (opcode == kClamp) return Smaller(Larger(Operand(id, 1), Operand(id, 0)), Operand(id, 2));
    if (opcode == kRemainder) return Remainder(Operand(id, 0), Operand(id, 1), integer);
    if (opcode == kAnd) return integer ? And(id) : Interval();
    return OfFunction(opcode, Operand0(id));
  }

  Interval Operand0(InstructionId id) const {
    return module_.operands(id).empty() ? Interval() : Operand(id, 0);
  }

  // Functions whose values are bounded by nature.
  static Interval OfFunction(Opcode opcode, const Interval& x) {
    static constexpr hlo::OpcodeTable<Interval> kBounds = {
        {Opcode::kClz, {0, 64}},
        {Opcode::kCos, {-1, 1}},
        {Opcode::kCosh, {1, kInfinity}},
        {Opcode::kErf, {-1, 1}},
        {Opcode::kExp, {kSmallest, kInfinity}},
        {Opcode::kLogistic, {kSmallest, 1}},
        {Opcode::kPopulationCount, {0, 64}},
        {Opcode::kRsqrt, {kSmallest, kInfinity}},
        {Opcode::kSign, {-1, 1}},
        {Opcode::kSin, {-1, 1}},
        {Opcode::kTanh, {-1, 1}},
    };
    if (opcode == Opcode::kSqrt) return {x.low > 0 ? std::sqrt(x.low) : 0, kInfinity};
    return kBounds[opcode];
  }

  const Module& module_;
  const std::vector<Interval>& known_;
};

}  // namespace

Interval RangeOfType(hlo::ElementType type) {
  const int bits = hlo::BitWidth(type);
  if (type == hlo::ElementType::kPred) return {0, 1};
  if (!hlo::IsInteger(type)) return {};
  if (hlo::IsUnsigned(type)) return {0, std::ldexp(1, bits) - 1};
  return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
}

ValueRanges::ValueRanges(const Module& module) : ranges_(module.instructions().size()) {
  for (uint32_t i = 0; i < ranges_.size(); ++i) {
    ranges_[i] = Ranger(module, ranges_).Of(InstructionId(i));
  }
}

}  // namespace hloscope::replay
