// Kernels of all-reduce and reduce-scatter: elements of all members folded pairwise in the order of
// the group, every step rounded to the reducer's type.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "core/eval/kernels/collectives.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/loops/vectorized_computation.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr int64_t kGrain = 64 * kLanes;  // elements folded by one thread at a time

// Folds rows of lanes: (0 1)(2 3)…, an odd last one carried over, and the same again; from the left
// where the reducer may not be regrouped.
class RowFold {
 public:
  RowFold(VectorizedComputation& reducer, size_t rows, int element_bytes)
      : reducer_(reducer),
        in_order_(!reducer.IsAssociative()),
        bytes_(static_cast<size_t>(kLanes * element_bytes)),
        scratch_(std::make_unique<std::byte[]>(bytes_ * (rows + 2))) {}

  // The result lies in the fold's own memory until the next call.
  Result<const std::byte*> Fold(std::vector<const std::byte*> rows, int64_t lanes) {
    next_ = 0;
    if (in_order_) {
      for (size_t r = 1; r < rows.size(); ++r) {
        next_ = r % 2;
        HLOSCOPE_TRY(Combine(rows[0], rows[r], lanes, rows[0]));
      }
      return rows[0];
    }
    // Results of a level go behind those of the last one, of which there are twice as many.
    while (rows.size() > 1) {
      std::vector<const std::byte*> level((rows.size() + 1) / 2, rows.back());
      for (size_t i = 0; i + 1 < rows.size(); i += 2) {
        HLOSCOPE_TRY(Combine(rows[i], rows[i + 1], lanes, level[i / 2]));
      }
      rows = std::move(level);
    }
    return rows[0];
  }

 private:
  Status Combine(const std::byte* left, const std::byte* right, int64_t lanes,
                 const std::byte*& result) {
    std::byte* place = scratch_.get() + bytes_ * next_++;
    const std::array<const std::byte*, 2> in = {left, right};
    const std::array<std::byte*, 1> out = {place};
    HLOSCOPE_TRY(reducer_.Run(in, out, lanes));
    result = place;
    return {};
  }

  VectorizedComputation& reducer_;
  bool in_order_;
  size_t bytes_;
  std::unique_ptr<std::byte[]> scratch_;  // rows - 1 results, of which all may be alive
  size_t next_ = 0;
};

Status FoldRange(VectorizedComputation& reducer, std::span<const Value> arrays, IndexRange range,
                 int element_bytes, std::byte* out) {
  RowFold fold(reducer, arrays.size(), element_bytes);
  for (int64_t begin = range.begin; begin < range.end; begin += kLanes) {
    const int64_t lanes = std::min(kLanes, range.end - begin);
    std::vector<const std::byte*> rows;
    for (const Value& array : arrays) rows.push_back(array.data() + begin * element_bytes);
    HLOSCOPE_ASSIGN_OR_RETURN(const std::byte* result, fold.Fold(std::move(rows), lanes));
    std::memcpy(out + begin * element_bytes, result, static_cast<size_t>(lanes * element_bytes));
  }
  return {};
}

// Arrays of one shape folded element by element.
Result<Value> Folded(KernelCall& call, std::span<const Value> arrays) {
  for (const Value& array : arrays) {
    if (array.is_array() && hlo::Compatible(array.shape(), arrays[0].shape())) continue;
    return Unsupported(call, "its operands differ in shape across devices");
  }
  if (arrays.size() == 1) return arrays[0];
  const auto id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  if (!id.valid()) return Unsupported(call, "it has no reduction computation");
  const Shape shape = arrays[0].shape();
  const hlo::ElementType type = shape.element_type();
  HLOSCOPE_ASSIGN_OR_RETURN(VectorizedComputation reducer, CompileReducer(call, id, {type}));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const int64_t count = ElementCount(shape);
  const int bytes = hlo::StorageBytes(type);
  HLOSCOPE_TRY(call.machine.Charge(count * std::ssize(arrays)));
  if (!reducer.IsAssociative()) {  // it may not be one for several threads
    HLOSCOPE_TRY(FoldRange(reducer, arrays, {0, count}, bytes, buffer.data()));
    return Value::Array(shape, std::move(buffer));
  }
  HLOSCOPE_TRY(call.machine.ForRanges(count, kGrain, [&](IndexRange range) -> Status {
    HLOSCOPE_ASSIGN_OR_RETURN(VectorizedComputation own,
                              VectorizedComputation::Compile(call.machine, id));
    return FoldRange(own, arrays, range, bytes, buffer.data());
  }));
  return Value::Array(shape, std::move(buffer));
}

std::unexpected<Error> InNoGroup(const KernelCall& call) {
  return Unsupported(call, "device " + std::to_string(call.machine.device()) +
                               " is in none of its replica groups");
}

}  // namespace

Result<Value> AllReduceKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous == nullptr) return InNoGroup(call);
  if (const Value* missing = FindMissing(*here.rendezvous)) return *missing;
  std::vector<Value>& results = here.rendezvous->results;
  for (size_t o = results.size(); o < call.operands.size(); ++o) {
    std::vector<Value> arrays;
    for (const auto& brought : here.rendezvous->brought) arrays.push_back(brought[o]);
    HLOSCOPE_ASSIGN_OR_RETURN(Value sum, Folded(call, arrays));
    results.push_back(std::move(sum));
  }
  return OneOrTuple(call, results, false);
}

// Member i of the group gets the i-th piece of what all-reduce would give.
Result<Value> ReduceScatterKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Gathering here, GroupRendezvous(call));
  if (here.rendezvous == nullptr) return InNoGroup(call);
  if (const Value* missing = FindMissing(*here.rendezvous)) return *missing;
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  if (dimensions.size() != 1) return Unsupported(call, "its dimension is missing");
  const auto dimension = static_cast<size_t>(dimensions[0]);
  const auto members = static_cast<int64_t>(here.rendezvous->members.size());
  std::vector<Value> results;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    const Shape* shape = ResultShape(call, o, true);
    const Shape& whole = call.operand_shape(o);
    if (shape == nullptr || dimension >= whole.rank() ||
        shape->dimension(dimension) * members != whole.dimension(dimension)) {
      return Unsupported(call, "its group size does not divide the dimension");
    }
    const int64_t size = shape->dimension(dimension);
    std::vector<Value> pieces;
    for (const auto& brought : here.rendezvous->brought) {
      if (!hlo::Compatible(brought[o].shape(), whole)) {
        return Unsupported(call, "its operands differ in shape across devices");
      }
      HLOSCOPE_ASSIGN_OR_RETURN(
          Value piece,
          SliceOf(call, brought[o], dimension, size * static_cast<int64_t>(here.position), size));
      pieces.push_back(std::move(piece));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Value sum, Folded(call, pieces));
    results.push_back(std::move(sum));
  }
  return OneOrTuple(call, std::move(results), true);
}

}  // namespace hloscope::eval
