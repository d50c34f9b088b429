// scaled-dot: a dot of operands each block of which shares one scale. Products of elements and
// scales are exact (in f64), then it is a dot like any other (XLA: ScaledDotRewriter).
#include "core/eval/kernels/contraction.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

std::vector<double> Load(const Value& value) {
  std::vector<double> out(static_cast<size_t>(ElementCount(value.shape())));
  LoadAs<double>(value.shape().element_type(), value.data(), out.data(),
                 static_cast<int64_t>(out.size()));
  return out;
}

// Operand `side` in f64, each element times the scale of its block and `factor`. A scale has as
// many elements along a dimension as there are blocks; a scalar is one for all.
Result<Value> Scaled(KernelCall& call, size_t side, double factor) {
  const Shape& shape = call.operand_shape(side);
  const Shape& scale_shape = call.operand_shape(side + 2);
  const std::vector<double> scales = Load(call.operands[side + 2]);
  const Shape wide = Shape::Array(hlo::ElementType::kF64, Dimensions(shape));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(wide));
  const int64_t count = ElementCount(shape);
  LoadAs<double>(shape.element_type(), call.operands[side].data(), out.as<double>(), count);
  const std::vector<int64_t> sizes = Dimensions(shape);
  const auto strides = RowMajorStrides(scale_shape.dimensions());
  std::vector<int64_t> index(sizes.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      at += index[d] / (sizes[d] / scale_shape.dimension(d)) * strides[d];
    }
    out.as<double>()[i] *= scales[static_cast<size_t>(at)] * factor;
    NextIndex(index, sizes);
  }
  return Value::Array(wide, std::move(out));
}

}  // namespace

// Operands: left, right, their scales and, where there are six, a scale for all of each.
Result<Value> ScaledDotKernel(KernelCall& call) {
  if (call.operands.size() != 4 && call.operands.size() != 6) {
    return Unsupported(call, "expected two operands and two scales");
  }
  if (AccumulatorOf(call) != Accumulator::kFloat) {
    return Unsupported(call, "its scales must be floating-point");
  }
  std::vector<Value> sides;
  for (size_t side = 0; side < 2; ++side) {
    const double factor = call.operands.size() == 6 ? Load(call.operands[side + 4])[0] : 1;
    HLOSCOPE_ASSIGN_OR_RETURN(Value scaled, Scaled(call, side, factor));
    sides.push_back(std::move(scaled));
  }
  KernelCall dot = call;
  dot.operands = sides;
  return DotKernel(dot);
}

}  // namespace hloscope::eval
