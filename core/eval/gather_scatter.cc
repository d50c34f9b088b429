// Kernels of gather and scatter. gather clamps start indices so that the slice lies inside; scatter
// leaves out updates whose window does not, and applies the others in order of their indices.
#include <algorithm>

#include "core/eval/index_vectors.h"
#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/lane_function.h"
#include "core/eval/reduction.h"
#include "core/eval/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// Dimensions below `rank` that are in neither list.
std::vector<size_t> Others(size_t rank, std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<size_t> others;
  for (size_t d = 0; d < rank; ++d) {
    const auto dimension = static_cast<int64_t>(d);
    if (!Contains(a, dimension) && !Contains(b, dimension)) others.push_back(d);
  }
  return others;
}

std::vector<int64_t> Pick(std::span<const int64_t> from, std::span<const size_t> which) {
  std::vector<int64_t> picked;
  for (size_t i : which) picked.push_back(from[i]);
  return picked;
}

std::vector<int64_t> Pick(std::span<const int64_t> from, std::span<const int64_t> which) {
  std::vector<int64_t> picked;
  for (int64_t i : which) picked.push_back(from[static_cast<size_t>(i)]);
  return picked;
}

bool IsEmpty(std::span<const int64_t> sizes) { return Contains(sizes, 0); }

}  // namespace

Result<Value> GatherKernel(KernelCall& call) {
  const hlo::Module& module = call.module();
  const auto& instruction = call.instruction();
  const Shape& in = call.operand_shape(0);
  const Shape& shape = call.shape();
  const auto slice_sizes = module.GetInts(instruction, AttributeKey::kSliceSizes);
  const auto offset_dims = module.GetInts(instruction, AttributeKey::kOffsetDims);
  const IndexMap how{module.GetInt(instruction, AttributeKey::kIndexVectorDim),
                     module.GetInts(instruction, AttributeKey::kStartIndexMap),
                     module.GetInts(instruction, AttributeKey::kOperandBatchingDims),
                     module.GetInts(instruction, AttributeKey::kStartIndicesBatchingDims)};
  IndexVectors vectors(call.operands[1], how, in.rank());
  const auto window =
      Others(in.rank(), module.GetInts(instruction, AttributeKey::kCollapsedSliceDims),
             how.operand_batching);
  const auto in_strides = RowMajorStrides(in.dimensions());
  const auto out_strides = RowMajorStrides(shape.dimensions());
  const int bytes = hlo::StorageBytes(shape.element_type());
  const auto window_sizes = Pick(slice_sizes, window);
  const StridedCopy copy(window_sizes, Pick(in_strides, window), Pick(out_strides, offset_dims),
                         bytes);
  const auto batch_strides = Pick(out_strides, Others(shape.rank(), offset_dims, {}));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  if (out.size == 0) return Value::Array(shape, std::move(out));
  if (IsEmpty(in.dimensions())) {  // there is nothing to gather from: zeros
    std::fill_n(out.data(), out.size, std::byte{0});
    return Value::Array(shape, std::move(out));
  }
  const std::vector<int64_t> room = SizesAtRunTime(call.operands[0]);
  std::vector<int64_t> batch(batch_strides.size(), 0);
  do {
    const auto start = vectors.StartAt(batch);
    int64_t from = 0;
    for (size_t d = 0; d < in.rank(); ++d) {
      const int64_t last = std::max<int64_t>(0, room[d] - slice_sizes[d]);
      from += std::clamp<int64_t>(start[d], 0, last) * in_strides[d];
    }
    copy.Run(call.operands[0].data() + from * bytes,
             out.data() + Offset(batch, batch_strides) * bytes);
  } while (NextIndex(batch, vectors.batch_sizes()));
  return Value::Array(shape, std::move(out));
}

namespace {

// A scatter of k arrays: windows of the results are read, combined with those of the updates and
// written back.
class Scatterer {
 public:
  Scatterer(KernelCall& call, LaneFunction& combine, size_t arity)
      : call_(call), combine_(combine), arity_(arity) {}

  Status Run(std::span<const Buffer> results) {
    const hlo::Module& module = call_.module();
    const auto& instruction = call_.instruction();
    const Shape& shape = call_.operand_shape(0);
    const Shape& updates = call_.operand_shape(arity_ + 1);
    const auto update_window = module.GetInts(instruction, AttributeKey::kUpdateWindowDims);
    const IndexMap how{module.GetInt(instruction, AttributeKey::kIndexVectorDim),
                       module.GetInts(instruction, AttributeKey::kScatterDimsToOperandDims),
                       module.GetInts(instruction, AttributeKey::kInputBatchingDims),
                       module.GetInts(instruction, AttributeKey::kScatterIndicesBatchingDims)};
    IndexVectors vectors(call_.operands[arity_], how, shape.rank());
    const auto window =
        Others(shape.rank(), module.GetInts(instruction, AttributeKey::kInsertedWindowDims),
               how.operand_batching);
    const auto sizes = Pick(updates.dimensions(), update_window);
    std::vector<int64_t> extent(shape.rank(), 1);
    for (size_t i = 0; i < window.size(); ++i) extent[window[i]] = sizes[i];
    const auto strides = RowMajorStrides(shape.dimensions());
    const auto update_strides = RowMajorStrides(updates.dimensions());
    const auto batch_strides = Pick(update_strides, Others(updates.rank(), update_window, {}));
    if (IsEmpty(updates.dimensions())) return {};
    HLOSCOPE_TRY(Prepare(sizes, Pick(strides, window), Pick(update_strides, update_window)));
    std::vector<int64_t> batch(batch_strides.size(), 0);
    do {
      const auto start = vectors.StartAt(batch);
      bool inside = true;
      for (size_t d = 0; d < shape.rank(); ++d) {
        inside &= start[d] >= 0 && start[d] <= shape.dimension(d) - extent[d];
      }
      if (!inside) continue;
      HLOSCOPE_TRY(Apply(results, Offset(start, strides), Offset(batch, batch_strides)));
    } while (NextIndex(batch, vectors.batch_sizes()));
    return {};
  }

 private:
  Status Prepare(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                 std::span<const int64_t> update_strides) {
    const auto dense = RowMajorStrides(sizes);
    for (int64_t size : sizes) lanes_ *= size;
    for (size_t i = 0; i < arity_; ++i) {
      bytes_.push_back(hlo::StorageBytes(call_.operand_shape(i).element_type()));
      read_.emplace_back(sizes, strides, dense, bytes_[i]);
      update_.emplace_back(sizes, update_strides, dense, bytes_[i]);
      write_.emplace_back(sizes, dense, strides, bytes_[i]);
    }
    in_.resize(2 * arity_);
    out_.resize(arity_);
    for (size_t i = 0; i < 3 * arity_; ++i) {
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call_.machine.Allocate(lanes_ * bytes_[i % arity_]));
      if (i < 2 * arity_) {
        in_[i] = buffer.data();
      } else {
        out_[i - 2 * arity_] = buffer.data();
      }
      scratch_.push_back(std::move(buffer));
    }
    return {};
  }

  Status Apply(std::span<const Buffer> results, int64_t at, int64_t update_at) {
    for (size_t i = 0; i < arity_; ++i) {
      read_[i].Run(results[i].data() + at * bytes_[i], scratch_[i].data());
      update_[i].Run(call_.operands[arity_ + 1 + i].data() + update_at * bytes_[i],
                     scratch_[arity_ + i].data());
    }
    HLOSCOPE_TRY(combine_.Run(in_, out_, lanes_));
    for (size_t i = 0; i < arity_; ++i) {
      write_[i].Run(out_[i], results[i].data() + at * bytes_[i]);
    }
    return {};
  }

  KernelCall& call_;
  LaneFunction& combine_;
  size_t arity_;
  int64_t lanes_ = 1;
  std::vector<int> bytes_;
  std::vector<StridedCopy> read_, update_, write_;
  std::vector<Buffer> scratch_;
  std::vector<const std::byte*> in_;
  std::vector<std::byte*> out_;
};

}  // namespace

Result<Value> ScatterKernel(KernelCall& call) {
  const auto combine_id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction combine, LaneFunction::Compile(call.machine, combine_id));
  const size_t arity = call.operands.size() / 2;
  if (combine.result_types().size() != arity) return Unsupported(call, "the reducer does not fit");
  std::vector<Shape> shapes;
  for (size_t i = 0; i < arity; ++i) shapes.push_back(call.operand_shape(i));
  std::vector<Buffer> results;
  Scatterer scatterer(call, combine, arity);
  for (size_t i = 0; i < arity; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer own, OwnCopy(call, i));
    call.operands[i] = Value::Array(shapes[i], own);  // its shape is still asked for
    results.push_back(std::move(own));
  }
  HLOSCOPE_TRY(scatterer.Run(results));
  std::vector<Value> values;
  for (size_t i = 0; i < arity; ++i) {
    values.push_back(Value::Array(std::move(shapes[i]), std::move(results[i])));
  }
  if (!call.shape().IsTuple()) return std::move(values[0]);
  return Value::Tuple(std::move(values));
}

}  // namespace hloscope::eval
