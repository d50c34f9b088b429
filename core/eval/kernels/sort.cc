// Kernels of sort and top-k. Sorting is stable whatever is_stable says, which is one of the orders
// allowed, and yields a permutation of each line however inconsistent the comparator is.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "core/eval/loops/lane_sort.h"
#include "core/eval/loops/vectorized_computation.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/machine.h"
#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr int64_t kGrain = 1 << 16;  // elements

// Two scalars of each operand's type, in pairs.
ElementTypes Pairs(std::span<const Value> operands) {
  ElementTypes pairs;
  for (const hlo::ElementType type : ElementTypesOf(operands)) pairs.insert(pairs.end(), 2, type);
  return pairs;
}

Result<Value> Results(KernelCall& call, std::vector<Buffer> buffers) {
  if (!call.shape().IsTuple()) return Value::Array(call.shape(), std::move(buffers[0]));
  std::vector<Value> values;
  for (size_t i = 0; i < buffers.size(); ++i) {
    values.push_back(Value::Array(call.shape().elements()[i], std::move(buffers[i])));
  }
  return Value::Tuple(std::move(values));
}

// Copies an array so that the lines along dimension d lie one behind the other, or back again.
Status CopyLines(KernelCall& call, size_t d, bool back, const Shape& shape, const std::byte* in,
                 std::byte* out) {
  std::vector<int64_t> sizes = Dimensions(shape), strides = RowMajorStrides(sizes);
  const auto at = static_cast<ptrdiff_t>(d);
  std::rotate(sizes.begin() + at, sizes.begin() + at + 1, sizes.end());
  std::rotate(strides.begin() + at, strides.begin() + at + 1, strides.end());
  const auto dense = RowMajorStrides(sizes);
  return StridedCopy(sizes, back ? dense : strides, back ? strides : dense,
                     hlo::StorageBytes(shape.element_type()))
      .Run(call.machine, in, out);
}

// Integers ordered like the elements by total order, all NaNs of a sign being equal.
std::vector<int64_t> TotalOrderKeys(hlo::ElementType type, const std::byte* data, int64_t count) {
  std::vector<int64_t> keys(static_cast<size_t>(count));
  if (!hlo::IsFloat(type)) {
    LoadAs<int64_t>(type, data, keys.data(), count);
    if (hlo::IsSigned(type)) return keys;
    for (int64_t& key : keys) key ^= std::numeric_limits<int64_t>::min();
    return keys;
  }
  std::vector<double> values(keys.size());
  LoadAs<double>(type, data, values.data(), count);
  for (size_t i = 0; i < keys.size(); ++i) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const double value = std::isnan(values[i]) ? std::copysign(kNan, values[i]) : values[i];
    const auto bits = std::bit_cast<int64_t>(value);
    keys[i] = bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
  }
  return keys;
}

// The places of the k largest (or smallest) of `count` elements; of equal ones the first.
std::vector<int64_t> TopPlaces(hlo::ElementType type, const std::byte* data, int64_t count,
                               int64_t k, bool largest) {
  const std::vector<int64_t> keys = TotalOrderKeys(type, data, count);
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
    const int64_t x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
    if (x == y) return a < b;
    return largest ? y < x : x < y;
  });
  order.resize(static_cast<size_t>(k));
  return order;
}

// The call's operands, arrays of equal sizes, sorted together along `d` by the order of the first
// two parameters of the comparator (two scalars per operand). Stable; unsupported where the
// comparator is none for these operands.
Result<std::vector<Buffer>> SortOperands(KernelCall& call, hlo::ComputationId comparator_id,
                                         size_t d) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      VectorizedComputation comparator,
      CompileLanes(call, comparator_id, Pairs(call.operands), {hlo::ElementType::kPred}));
  const Shape& shape = call.operand_shape(0);
  std::vector<Buffer> results;
  for (const Value& operand : call.operands) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(operand.shape()));
    results.push_back(std::move(buffer));
  }
  const int64_t count = ElementCount(shape);
  if (count == 0) return results;
  for (size_t i = 0; i < results.size(); ++i) {
    HLOSCOPE_TRY(CopyLines(call, d, false, call.operand_shape(i), call.operands[i].data(),
                           results[i].data()));
  }
  const int64_t length = shape.dimension(d);
  HLOSCOPE_TRY(LaneSort(call.machine, comparator, count / length, length, results));
  if (d + 1 == shape.rank()) return results;
  for (size_t i = 0; i < results.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer turned, call.machine.Allocate(call.operand_shape(i)));
    HLOSCOPE_TRY(CopyLines(call, d, true, call.operand_shape(i), results[i].data(), turned.data()));
    results[i] = std::move(turned);
  }
  return results;
}

}  // namespace

Result<Value> SortKernel(KernelCall& call) {
  if (ElementTypesOf(call.shape()) != ElementTypesOf(call.operands)) {
    return Unsupported(call, "its results have other element types than its operands");
  }
  const auto comparator = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  HLOSCOPE_ASSIGN_OR_RETURN(auto results,
                            SortOperands(call, comparator, static_cast<size_t>(dimensions[0])));
  return Results(call, std::move(results));
}

// The k largest (or smallest) of each line of the last dimension, and where they were; of equal
// ones the first.
Result<Value> TopKKernel(KernelCall& call) {
  const Shape& in = call.operand_shape(0);
  const int64_t count = in.dimension(in.rank() - 1);
  const bool largest = call.module().GetBool(call.instruction(), AttributeKey::kLargest, true);
  if (!call.shape().IsTuple() || call.shape().elements().size() != 2) {
    return Unsupported(call, "its result is not a pair of values and indices");
  }
  const Shape& values = call.shape().elements()[0];
  const Shape& indices = call.shape().elements()[1];
  const int64_t k = values.dimension(values.rank() - 1);
  if (values.element_type() != in.element_type()) {
    return Unsupported(call, "its values are of another element type than its operand");
  }
  if (k > count) return Unsupported(call, "its rows have fewer elements than its result");
  const int64_t bytes = hlo::StorageBytes(in.element_type());
  const int64_t index_bytes = hlo::StorageBytes(indices.element_type());
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(values));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer where, call.machine.Allocate(indices));
  const int64_t lines = count == 0 ? 0 : ElementCount(in) / count;
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(count, 1));
  HLOSCOPE_TRY(call.machine.ForRanges(lines, grain, [&](IndexRange range) -> Status {
    for (int64_t line = range.begin; line < range.end; ++line) {
      const std::byte* from = call.operands[0].data() + line * count * bytes;
      const auto order = TopPlaces(in.element_type(), from, count, k, largest);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t chosen = order[static_cast<size_t>(i)];
        std::memcpy(out.data() + (line * k + i) * bytes, from + chosen * bytes,
                    static_cast<size_t>(bytes));
      }
      StoreFrom<int64_t>(indices.element_type(), order.data(),
                         where.data() + line * k * index_bytes, k);
    }
    return {};
  }));
  std::vector<Buffer> both;
  both.push_back(std::move(out));
  both.push_back(std::move(where));
  return Results(call, std::move(both));
}

}  // namespace hloscope::eval
