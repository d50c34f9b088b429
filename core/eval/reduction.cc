// Kernels of reduce, map and the results they share with reduce-window.
#include "core/eval/reduction.h"

#include <algorithm>
#include <numeric>

#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/strided_copy.h"

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::Shape;

Result<ReductionResults> ReductionResults::Make(KernelCall& call) {
  ReductionResults results;
  const Shape& shape = call.shape();
  if (shape.IsTuple()) {
    results.is_tuple = true;
    results.shapes.assign(shape.elements().begin(), shape.elements().end());
  } else {
    results.shapes = {shape};
  }
  for (const Shape& each : results.shapes) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(each));
    results.buffers.push_back(std::move(buffer));
  }
  return results;
}

Value ReductionResults::Finish() && {
  std::vector<Value> values;
  for (size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(Value::Array(std::move(shapes[i]), std::move(buffers[i])));
  }
  return is_tuple ? Value::Tuple(std::move(values)) : std::move(values[0]);
}

std::vector<std::byte*> ReductionResults::At(int64_t element) const {
  std::vector<std::byte*> places;
  for (size_t i = 0; i < shapes.size(); ++i) {
    places.push_back(buffers[i].data() + element * hlo::StorageBytes(shapes[i].element_type()));
  }
  return places;
}

namespace {

constexpr int64_t kLanes = LaneFunction::kLanes;
constexpr int64_t kFewLanes = 8;  // below this, fold rows rather than columns

// The operands with the kept dimensions on one side and the reduced ones on the other.
struct Arranged {
  bool reduced_first = false;
  int64_t kept = 1, reduced = 1;
  std::vector<Value> arrays;
};

Result<Value> Transposed(KernelCall& call, const Value& in, std::span<const int64_t> order) {
  if (std::ranges::is_sorted(order)) return in;
  const auto strides = RowMajorStrides(in.shape().dimensions());
  std::vector<int64_t> sizes, in_strides;
  for (int64_t d : order) {
    sizes.push_back(in.shape().dimension(static_cast<size_t>(d)));
    in_strides.push_back(strides[static_cast<size_t>(d)]);
  }
  const hlo::ElementType type = in.shape().element_type();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(in.shape()));
  StridedCopy(sizes, in_strides, RowMajorStrides(sizes), hlo::StorageBytes(type))
      .Run(in.data(), buffer.data());
  return Value::Array(Shape::Array(type, sizes), std::move(buffer));
}

Result<Arranged> Arrange(KernelCall& call, size_t arity) {
  const Shape& shape = call.operand_shape(0);
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  std::vector<int64_t> kept, reduced;
  Arranged arranged;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const bool is_reduced =
        std::ranges::find(dimensions, static_cast<int64_t>(d)) != dimensions.end();
    (is_reduced ? reduced : kept).push_back(static_cast<int64_t>(d));
    (is_reduced ? arranged.reduced : arranged.kept) *= shape.dimension(d);
  }
  const bool last_is_kept = !kept.empty() && (reduced.empty() || kept.back() > reduced.back());
  arranged.reduced_first = last_is_kept && arranged.kept >= kFewLanes;
  std::vector<int64_t> order = arranged.reduced_first ? reduced : kept;
  const auto& rest = arranged.reduced_first ? kept : reduced;
  order.insert(order.end(), rest.begin(), rest.end());
  for (size_t i = 0; i < arity; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value array, Transposed(call, call.operands[i], order));
    arranged.arrays.push_back(std::move(array));
  }
  return arranged;
}

Status FoldRows(const Arranged& arranged, TreeReducer& tree, const ReductionResults& results) {
  std::vector<const std::byte*> in(tree.arity());
  for (int64_t k = 0; k < arranged.kept; ++k) {
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = arranged.arrays[i].data() + k * arranged.reduced * tree.element_bytes(i);
    }
    HLOSCOPE_TRY(tree.FoldRow(in, arranged.reduced, results.At(k)));
  }
  return {};
}

Status FoldColumns(const Arranged& arranged, TreeReducer& tree, const ReductionResults& results) {
  std::vector<const std::byte*> rows(tree.arity() * static_cast<size_t>(arranged.reduced));
  for (int64_t k = 0; k < arranged.kept; k += kLanes) {
    size_t next = 0;
    for (int64_t r = 0; r < arranged.reduced; ++r) {
      for (size_t i = 0; i < tree.arity(); ++i) {
        rows[next++] = arranged.arrays[i].data() + (r * arranged.kept + k) * tree.element_bytes(i);
      }
    }
    HLOSCOPE_TRY(tree.FoldColumns(rows, std::min(kLanes, arranged.kept - k), results.At(k)));
  }
  return {};
}

}  // namespace

std::vector<const std::byte*> InitialElements(const KernelCall& call) {
  std::vector<const std::byte*> init;
  for (size_t i = call.operands.size() / 2; i < call.operands.size(); ++i) {
    init.push_back(call.operands[i].data());
  }
  return init;
}

Result<Value> ReduceKernel(KernelCall& call) {
  const auto reducer_id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction reducer, LaneFunction::Compile(call.machine, reducer_id));
  const size_t arity = call.operands.size() / 2;
  if (reducer.result_types().size() != arity) return Unsupported(call, "the reducer does not fit");
  TreeReducer tree(reducer, InitialElements(call));
  HLOSCOPE_ASSIGN_OR_RETURN(const Arranged arranged, Arrange(call, arity));
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  HLOSCOPE_TRY(arranged.reduced_first ? FoldColumns(arranged, tree, results)
                                      : FoldRows(arranged, tree, results));
  return std::move(results).Finish();
}

Result<Value> MapKernel(KernelCall& call) {
  const auto body = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction function, LaneFunction::Compile(call.machine, body));
  std::vector<const std::byte*> in;
  for (const Value& operand : call.operands) in.push_back(operand.data());
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  HLOSCOPE_TRY(function.Run(in, results.At(0), ElementCount(results.shapes[0])));
  return std::move(results).Finish();
}

}  // namespace hloscope::eval
