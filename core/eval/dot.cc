// dot: products of floats up to f32 accumulate in f64 in order of the contracted index and are
// rounded once; integers accumulate modulo 2^64 and wrap to the result's type.
#include <algorithm>

#include "core/eval/contraction.h"
#include "core/eval/kernels.h"
#include "core/eval/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

// Both operands as [batch, rows or columns, contracted], and the free dimensions' sizes.
struct Sides {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  std::vector<int64_t> left_order, right_order;
};

void AppendAll(std::vector<int64_t>& to, std::span<const int64_t> from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<int64_t> FreeDimensions(const Shape& shape, std::span<const int64_t> batch,
                                    std::span<const int64_t> contracted) {
  std::vector<int64_t> free;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d) {
    if (std::ranges::find(batch, d) == batch.end() &&
        std::ranges::find(contracted, d) == contracted.end()) {
      free.push_back(d);
    }
  }
  return free;
}

int64_t SizeOf(const Shape& shape, std::span<const int64_t> dimensions) {
  int64_t size = 1;
  for (int64_t d : dimensions) size *= shape.dimension(static_cast<size_t>(d));
  return size;
}

Sides SidesOf(const KernelCall& call) {
  const hlo::Module& module = call.module();
  const Shape& left = call.operand_shape(0);
  const Shape& right = call.operand_shape(1);
  const auto left_batch = module.GetInts(call.instruction(), AttributeKey::kLhsBatchDims);
  const auto right_batch = module.GetInts(call.instruction(), AttributeKey::kRhsBatchDims);
  const auto left_depth = module.GetInts(call.instruction(), AttributeKey::kLhsContractingDims);
  const auto right_depth = module.GetInts(call.instruction(), AttributeKey::kRhsContractingDims);
  const auto rows = FreeDimensions(left, left_batch, left_depth);
  const auto columns = FreeDimensions(right, right_batch, right_depth);
  Sides sides{SizeOf(left, left_batch),
              SizeOf(left, rows),
              SizeOf(right, columns),
              SizeOf(left, left_depth),
              {},
              {}};
  AppendAll(sides.left_order, left_batch);
  AppendAll(sides.left_order, rows);
  AppendAll(sides.left_order, left_depth);
  // The right side is [batch, contracted, columns], so that inner loops run along columns.
  AppendAll(sides.right_order, right_batch);
  AppendAll(sides.right_order, right_depth);
  AppendAll(sides.right_order, columns);
  return sides;
}

template <typename A>
Result<Value> Dot(KernelCall& call) {
  const Sides sides = SidesOf(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer left, Arranged<A>(call, 0, sides.left_order));
  HLOSCOPE_ASSIGN_OR_RETURN(const Buffer right, Arranged<A>(call, 1, sides.right_order));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Buffer row,
      call.machine.Allocate(kRowsAtOnce * sides.columns * static_cast<int64_t>(sizeof(A))));
  const hlo::ElementType type = call.shape().element_type();
  const int bytes = hlo::StorageBytes(type);
  for (int64_t b = 0; b < sides.batch; ++b) {
    const A* from_right = right.as<A>() + b * sides.depth * sides.columns;
    for (int64_t r = 0; r < sides.rows; r += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, sides.rows - r);
      const A* from_left = left.as<A>() + (b * sides.rows + r) * sides.depth;
      HLOSCOPE_TRY(call.machine.Charge(count * sides.depth * sides.columns));
      MultiplyRows(from_left, count, sides.depth, from_right, sides.columns, row.as<A>());
      StoreFrom<A>(type, row.as<A>(), out.data() + (b * sides.rows + r) * sides.columns * bytes,
                   count * sides.columns);
    }
  }
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace

Result<Value> DotKernel(KernelCall& call) {
  switch (AccumulatorOf(call)) {
    case Accumulator::kComplex:
      return Dot<Complex>(call);
    case Accumulator::kFloat:
      return Dot<double>(call);
    case Accumulator::kInteger:
      return Dot<int64_t>(call);
  }
  return Unsupported(call, "it has no element type");
}

}  // namespace hloscope::eval
