// Kernels of sort and top-k. Sorting is stable whatever is_stable says, which is one of the orders
// allowed, and never reads outside its line however inconsistent the comparator is.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/lane_function.h"
#include "core/eval/strided_copy.h"
#include "core/eval/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr size_t kRun = 16;  // lines this short are sorted by insertion

// Inserts each of [begin, end) among those before it; a new smallest goes straight to the front.
template <typename Less>
Status InsertionSort(std::span<int64_t> line, Less less) {
  for (size_t i = 1; i < line.size(); ++i) {
    const int64_t moving = line[i];
    size_t to = i;
    HLOSCOPE_ASSIGN_OR_RETURN(const bool smallest, less(moving, line[0]));
    while (to > 0) {
      if (!smallest) {
        HLOSCOPE_ASSIGN_OR_RETURN(const bool goes_before, less(moving, line[to - 1]));
        if (!goes_before) break;
      }
      line[to] = line[to - 1];
      --to;
    }
    line[to] = moving;
  }
  return {};
}

// Sorts `order` by less(a, b): short runs, merged bottom up. Equal elements keep their order.
template <typename Less>
Status MergeSort(std::vector<int64_t>& order, Less less) {
  std::vector<int64_t> merged(order.size());
  const size_t n = order.size();
  for (size_t begin = 0; begin < n; begin += kRun) {
    HLOSCOPE_TRY(InsertionSort(std::span(order).subspan(begin, std::min(kRun, n - begin)), less));
  }
  for (size_t width = kRun; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const size_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          HLOSCOPE_ASSIGN_OR_RETURN(take_right, less(order[right], order[left]));
        }
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return {};
}

// Sorts one line of all operands at a time.
class LineSorter {
 public:
  LineSorter(KernelCall& call, LaneFunction& comparator, size_t dimension)
      : call_(call), comparator_(comparator), arity_(call.operands.size()) {
    const Shape& shape = call.operand_shape(0);
    count_ = shape.dimension(dimension);
    stride_ = RowMajorStrides(shape.dimensions())[dimension];
    pair_.resize(2 * arity_);
    for (size_t i = 0; i < arity_; ++i) {
      sizes_.push_back(hlo::StorageBytes(call.operand_shape(i).element_type()));
    }
  }

  // The line whose first element is at `at`.
  Status Sort(int64_t at, std::span<const Buffer> results) {
    order_.resize(static_cast<size_t>(count_));
    std::iota(order_.begin(), order_.end(), 0);
    HLOSCOPE_TRY(MergeSort(order_, [&](int64_t a, int64_t b) { return Less(at, a, b); }));
    for (size_t i = 0; i < arity_; ++i) {
      const auto size = static_cast<size_t>(sizes_[i]);
      for (int64_t to = 0; to < count_; ++to) {
        std::memcpy(results[i].data() + (at + to * stride_) * sizes_[i],
                    Element(i, at, order_[static_cast<size_t>(to)]), size);
      }
    }
    return {};
  }

 private:
  const std::byte* Element(size_t i, int64_t at, int64_t k) const {
    return call_.operands[i].data() + (at + k * stride_) * sizes_[i];
  }

  Result<bool> Less(int64_t at, int64_t a, int64_t b) {
    for (size_t i = 0; i < arity_; ++i) {
      pair_[2 * i] = Element(i, at, a);
      pair_[2 * i + 1] = Element(i, at, b);
    }
    std::byte verdict{0};
    std::byte* const out[] = {&verdict};
    HLOSCOPE_TRY(comparator_.Run(pair_, out, 1));
    return verdict != std::byte{0};
  }

  KernelCall& call_;
  LaneFunction& comparator_;
  size_t arity_;
  int64_t count_, stride_;
  std::vector<int> sizes_;
  std::vector<int64_t> order_;
  std::vector<const std::byte*> pair_;
};

Result<Value> Results(KernelCall& call, std::vector<Buffer> buffers) {
  if (!call.shape().IsTuple()) return Value::Array(call.shape(), std::move(buffers[0]));
  std::vector<Value> values;
  for (size_t i = 0; i < buffers.size(); ++i) {
    values.push_back(Value::Array(call.shape().elements()[i], std::move(buffers[i])));
  }
  return Value::Tuple(std::move(values));
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

}  // namespace

Result<Value> SortKernel(KernelCall& call) {
  const auto comparator_id =
      call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction comparator,
                            LaneFunction::Compile(call.machine, comparator_id));
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  const auto d = static_cast<size_t>(dimensions[0]);
  const Shape& shape = call.operand_shape(0);
  std::vector<Buffer> results;
  for (const Value& operand : call.operands) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(operand.shape()));
    results.push_back(std::move(buffer));
  }
  if (ElementCount(shape) == 0) return Results(call, std::move(results));
  LineSorter sorter(call, comparator, d);
  const auto strides = RowMajorStrides(shape.dimensions());
  std::vector<int64_t> lines = Dimensions(shape), line(shape.rank(), 0);
  lines[d] = 1;
  do {
    HLOSCOPE_TRY(sorter.Sort(Offset(line, strides), results));
  } while (NextIndex(line, lines));
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
  const int64_t bytes = hlo::StorageBytes(in.element_type());
  const int64_t index_bytes = hlo::StorageBytes(indices.element_type());
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(values));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer where, call.machine.Allocate(indices));
  const int64_t lines = count == 0 ? 0 : ElementCount(in) / count;
  for (int64_t line = 0; line < lines; ++line) {
    const std::byte* from = call.operands[0].data() + line * count * bytes;
    const auto keys = TotalOrderKeys(in.element_type(), from, count);
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    HLOSCOPE_TRY(MergeSort(order, [&](int64_t a, int64_t b) -> Result<bool> {
      const int64_t x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
      return largest ? y < x : x < y;
    }));
    for (int64_t i = 0; i < k; ++i) {
      const int64_t chosen = order[static_cast<size_t>(i)];
      std::memcpy(out.data() + (line * k + i) * bytes, from + chosen * bytes,
                  static_cast<size_t>(bytes));
      StoreFrom<int64_t>(indices.element_type(), &chosen,
                         where.data() + (line * k + i) * index_bytes, 1);
    }
  }
  std::vector<Buffer> both;
  both.push_back(std::move(out));
  both.push_back(std::move(where));
  return Results(call, std::move(both));
}

}  // namespace hloscope::eval
