// CallLive: cuts operands to their live parts, runs the kernel there, and puts what it yields back
// within the bounds of the declared shape.
#include "core/eval/machine/live_call.h"

#include <algorithm>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {

using hlo::Shape;

namespace {

bool HasLiveSizes(const Value& value) {
  return value.is_array() && !value.literal().dynamic_sizes().empty();
}

LiveSizes SizesOf(const Value& value) {
  return value.is_array() ? value.literal().live_sizes() : LiveSizes();
}

// The first elements of `value` in every dimension, as an array of its own.
Result<Value> Cut(KernelCall& call, const Value& value, const LiveSizes& sizes) {
  if (!value.is_array()) return value;
  if (!HasLiveSizes(value) && std::ranges::equal(sizes, value.shape().dimensions())) return value;
  const hlo::ElementType type = value.shape().element_type();
  Shape shape = Shape::Array(type, sizes);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  StridedCopy(sizes, RowMajorStrides(value.shape().dimensions()), RowMajorStrides(sizes),
              hlo::StorageBytes(type))
      .Run(value.data(), buffer.data());
  return Value::Array(std::move(shape), std::move(buffer));
}

// Every leaf back within the bounds that the declared shape has.
Result<Value> Restore(KernelCall& call, const Value& value, const Shape& declared) {
  if (!value.is_tuple()) {
    return value.is_array() ? WithinBounds(call.machine, value, declared) : value;
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < value.elements().size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value element,
                              Restore(call, value.elements()[i], declared.elements()[i]));
    elements.push_back(std::move(element));
  }
  return Value::Tuple(std::move(elements));
}

bool IsBoundedBy(const Shape& live, const Shape& declared) {
  if (live.IsTuple() != declared.IsTuple()) return false;
  if (live.IsTuple()) {
    if (live.elements().size() != declared.elements().size()) return false;
    for (size_t i = 0; i < live.elements().size(); ++i) {
      if (!IsBoundedBy(live.elements()[i], declared.elements()[i])) return false;
    }
    return true;
  }
  if (live.element_type() != declared.element_type() || live.rank() != declared.rank()) {
    return false;
  }
  for (size_t d = 0; d < live.rank(); ++d) {
    if (live.dimension(d) < 0 || live.dimension(d) > declared.dimension(d)) return false;
  }
  return true;
}

// An operand whose live size is 1 where the result's is larger stands for all of it, as XLA's
// elementwise instructions have it.
Result<Value> Spread(KernelCall& call, const Value& value, const LiveSizes& from,
                     const Shape& live) {
  if (from.size() != live.rank() || std::ranges::equal(from, live.dimensions())) return value;
  std::vector<int64_t> strides = RowMajorStrides(value.shape().dimensions());
  bool spreads = false;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1 || live.dimension(d) <= 1) continue;
    strides[d] = 0;
    spreads = true;
  }
  if (!spreads) return value;
  const Shape& whole = value.shape();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(whole));
  std::fill_n(buffer.data(), buffer.size, std::byte{0});
  StridedCopy(live.dimensions(), strides, RowMajorStrides(whole.dimensions()),
              hlo::StorageBytes(whole.element_type()))
      .Run(value.data(), buffer.data());
  return Value::Array(whole, std::move(buffer));
}

}  // namespace

bool NeedsLiveCall(const KernelCall& call, const DynamicShapeRule& rule) {
  return rule.mode != LiveMode::kWhole && std::ranges::any_of(call.operands, HasLiveSizes);
}

Result<Value> CallLive(KernelCall& call, Kernel kernel, const DynamicShapeRule& rule) {
  const Shape& declared = call.shape();
  std::vector<LiveSizes> sizes;
  for (const Value& operand : call.operands) sizes.push_back(SizesOf(operand));
  if (rule.agree != nullptr) rule.agree(call, sizes);
  Result<Shape> live = rule.result(call, sizes);
  if (!live.has_value()) return Unsupported(call, "at run time it " + live.error().message);
  if (!IsBoundedBy(*live, declared)) {
    return Unsupported(call, "its result at run time is " + hlo::ToString(*live, false));
  }
  const bool cut = rule.mode == LiveMode::kCut;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    Value& operand = call.operands[i];
    if (cut) {
      HLOSCOPE_ASSIGN_OR_RETURN(operand, Cut(call, operand, sizes[i]));
    } else if (hlo::HasFlag(call.opcode(), hlo::kFlagElementwise) && operand.is_array()) {
      HLOSCOPE_ASSIGN_OR_RETURN(operand, Spread(call, operand, sizes[i], *live));
    }
  }
  if (!cut) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value value, kernel(call));
    if (!value.is_array()) return value;
    LiveSizes result = Dimensions(*live);
    if (std::ranges::equal(result, declared.dimensions())) result.clear();
    // The kernel may have handed on an operand itself, which others can see.
    Value own = value.WithShape(declared);
    own.set_dynamic_sizes(std::move(result));
    return own;
  }
  KernelCall inner = call;
  inner.live_shape = &*live;
  HLOSCOPE_ASSIGN_OR_RETURN(Value value, kernel(inner));
  if (value.is_missing()) return value;
  return Restore(call, value, declared);
}

}  // namespace hloscope::eval
