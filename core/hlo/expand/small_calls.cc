// Custom calls of a few instructions: rotations, and 64-bit values as pairs of 32 bits.
#include <utility>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

bool IsIntegerOf(const CallSite& call, size_t operand, int bits) {
  if (!call.has_array(operand)) return false;
  const ElementType type = call.operand_shape(operand).element_type();
  return IsInteger(type) && BitWidth(type) == bits;
}

Result<ModulePtr> SplitHalf(const CallSite& call, bool high) {
  if (call.operand_count() != 1 || !IsIntegerOf(call, 0, 64)) {
    return Unsupported(call, "its operand is not a 64-bit integer");
  }
  Expansion x(call);
  Node bits = x.Convert(x.Operand(0), ElementType::kU64);
  if (high) bits = x.Binary(Opcode::kShiftRightLogical, bits, 32);
  return x.Build(x.Convert(bits, call.shape().element_type()));
}

}  // namespace

Result<ModulePtr> ExpandX64SplitLow(const CallSite& call) { return SplitHalf(call, false); }

Result<ModulePtr> ExpandX64SplitHigh(const CallSite& call) { return SplitHalf(call, true); }

// Operands: the low half, the high half.
Result<ModulePtr> ExpandX64Combine(const CallSite& call) {
  if (call.operand_count() != 2 || !IsIntegerOf(call, 0, 32) || !IsIntegerOf(call, 1, 32) ||
      !call.shape().IsArray() || !IsInteger(call.shape().element_type())) {
    return Unsupported(call, "its operands are not two 32-bit integers");
  }
  Expansion x(call);
  auto wide = [&](size_t i) {
    return x.Convert(x.Convert(x.Operand(i), ElementType::kU32), ElementType::kU64);
  };
  const Node high = x.Binary(Opcode::kShiftLeft, wide(1), 32);
  return x.Build(x.Convert(x.Binary(Opcode::kOr, wide(0), high), call.shape().element_type()));
}

// result[i] = operand[(i − amount) mod size] along one dimension.
Result<ModulePtr> ExpandRotateRight(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  const int64_t dimension = config.Integer("dimension", -1), amount = config.Integer("amount", -1);
  if (call.operand_count() != 1 || !call.has_array(0) || dimension < 0 ||
      std::cmp_greater_equal(dimension, call.operand_shape(0).rank())) {
    return Unsupported(call, "its backend_config has no valid dimension");
  }
  const auto sizes = Dimensions(call.operand_shape(0));
  const auto d = static_cast<size_t>(dimension);
  if (amount < 0 || amount > sizes[d])
    return Unsupported(call, "it rotates by more than the size of the dimension");
  Expansion x(call);
  std::vector<int64_t> begin(sizes.size(), 0), cut = sizes;
  cut[d] = sizes[d] - amount;
  const Expansion::Node kept = x.Slice(x.Operand(0), begin, cut);
  begin[d] = cut[d];
  const Expansion::Node parts[] = {x.Slice(x.Operand(0), begin, sizes), kept};
  const Attribute along = x.builder().MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1));
  return x.Build(x.Add(Opcode::kConcatenate, x.ShapeOf(x.Operand(0)), parts, {&along, 1}));
}

}  // namespace hloscope::hlo::expand
