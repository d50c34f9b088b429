// Kernels of gather and scatter. gather clamps start indices so that the slice lies inside; scatter
// leaves out updates whose window does not, and applies the others in order of their indices.
#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "core/eval/kernels/reduction.h"
#include "core/eval/loops/index_vectors.h"
#include "core/eval/loops/vectorized_computation.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// Dimensions below `rank` that are not in the list.
std::vector<size_t> Others(size_t rank, std::span<const int64_t> list) {
  std::vector<size_t> others;
  for (size_t d = 0; d < rank; ++d) {
    if (!Contains(list, static_cast<int64_t>(d))) others.push_back(d);
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

constexpr int64_t kGrain = 1 << 16;  // elements
constexpr int kParts = 4;            // of a result that updates are shared out to
constexpr size_t kStamps = 1 << 15;  // places that share one only make blocks shorter
constexpr size_t kUpdatesBetweenLooks = 1 << 14;
constexpr int64_t kBlock = 1024;  // windows whose offsets are computed at once

int64_t CountOf(std::span<const int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

Result<Value> GatherKernel(KernelCall& call) {
  const Shape& in = call.operand_shape(0);
  const Shape& shape = call.shape();
  const hlo::GatherDims dims = hlo::GatherDimsOf(call.module(), call.id);
  const IndexMap how{dims.index_vector_dim, dims.start_index_map, dims.operand_batching_dims,
                     dims.start_indices_batching_dims};
  const IndexVectors vectors(call.operands[1], how, in, call.operands[0].literal().live_sizes(),
                             dims.slice_sizes);
  const auto window = dims.WindowDims(in.rank());
  const auto in_strides = RowMajorStrides(in.dimensions());
  const auto out_strides = RowMajorStrides(shape.dimensions());
  const int bytes = hlo::StorageBytes(shape.element_type());
  const auto window_sizes = Pick(dims.slice_sizes, window);
  const StridedCopy copy(window_sizes, Pick(in_strides, window),
                         Pick(out_strides, dims.offset_dims), bytes);
  const auto batch = Others(shape.rank(), dims.offset_dims);
  const RowMajorOffsets places(Pick(shape.dimensions(), batch), Pick(out_strides, batch));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  if (out.size == 0) return Value::Array(shape, std::move(out));
  if (IsEmpty(in.dimensions())) {  // there is nothing to gather from: zeros
    std::fill_n(out.data(), out.size, std::byte{0});
    return Value::Array(shape, std::move(out));
  }
  const int64_t lanes = CountOf(window_sizes);
  const int64_t grain = std::max<int64_t>(1, kGrain / lanes);
  const std::byte* data = call.operands[0].data();
  HLOSCOPE_TRY(call.machine.ForRanges(vectors.count(), grain, [&](IndexRange range) -> Status {
    std::array<int64_t, kBlock> from, to;
    for (int64_t begin = range.begin; begin < range.end; begin += kBlock) {
      const auto count = static_cast<size_t>(std::min(kBlock, range.end - begin));
      vectors.OffsetsAt(begin, IndexVectors::Outside::kMoved, std::span(from).first(count));
      places.At(begin, std::span(to).first(count));
      if (lanes == 1) {
        WithBytes(bytes, [&]<typename T>(T) {
          const T* source = reinterpret_cast<const T*>(data);
          for (size_t i = 0; i < count; ++i) out.as<T>()[to[i]] = source[from[i]];
        });
        continue;
      }
      for (size_t i = 0; i < count; ++i) {
        copy.Run(data + from[i] * bytes, out.data() + to[i] * bytes);
      }
    }
    return {};
  }));
  return Value::Array(shape, std::move(out));
}

namespace {

// A scatter of k arrays: windows of the results are read, combined with those of the updates and
// written back.
class Scatterer {
 public:
  Scatterer(KernelCall& call, VectorizedComputation& combine, size_t arity)
      : call_(call), combine_(combine), arity_(arity) {}

  Status Run(std::span<const Buffer> results) {
    const Shape& shape = call_.operand_shape(0);
    const Shape& updates = call_.operand_shape(arity_ + 1);
    const hlo::ScatterDims dims = hlo::ScatterDimsOf(call_.module(), call_.id);
    const auto update_window = dims.update_window_dims;
    const IndexMap how{dims.index_vector_dim, dims.scatter_dims_to_operand_dims,
                       dims.input_batching_dims, dims.scatter_indices_batching_dims};
    const auto window = dims.WindowDims(shape.rank());
    const auto sizes = Pick(updates.dimensions(), update_window);
    std::vector<int64_t> extent(shape.rank(), 1);
    for (size_t i = 0; i < window.size(); ++i) extent[window[i]] = sizes[i];
    const auto strides = RowMajorStrides(shape.dimensions());
    const auto update_strides = RowMajorStrides(updates.dimensions());
    const auto batch = Others(updates.rank(), update_window);
    if (IsEmpty(updates.dimensions())) return {};
    HLOSCOPE_TRY(Prepare(sizes, Pick(strides, window), Pick(update_strides, update_window)));
    const IndexVectors vectors(call_.operands[arity_], how, shape, shape.dimensions(), extent);
    const RowMajorOffsets places(Pick(updates.dimensions(), batch), Pick(update_strides, batch));
    HLOSCOPE_ASSIGN_OR_RETURN(to_memory_,
                              call_.machine.Allocate(vectors.count() * int64_t{sizeof(int64_t)}));
    to_ = {to_memory_.as<int64_t>(), static_cast<size_t>(vectors.count())};
    HLOSCOPE_TRY(call_.machine.ForRanges(vectors.count(), kGrain, [&](IndexRange range) -> Status {
      vectors.OffsetsAt(range.begin, IndexVectors::Outside::kLeftOut,
                        to_.subspan(static_cast<size_t>(range.begin),
                                    static_cast<size_t>(range.end - range.begin)));
      return {};
    }));
    from_step_ = places.step();
    if (from_step_ == 0) {
      from_.resize(to_.size());
      places.At(0, from_);
    }
    // Windows that are whole along every indexed dimension are the same or have nothing in common.
    const bool may_overlap = std::ranges::any_of(
        window, [&](size_t d) { return Contains(how.map, static_cast<int64_t>(d)); });
    if (lanes_ == 1) return ApplyScalars(results);
    if (HasDenseRows()) return ApplyRows(results[0], may_overlap);
    for (size_t i = 0; i < to_.size(); ++i) {
      if (to_[i] >= 0) HLOSCOPE_TRY(Apply(results, to_[i], From(i)));
    }
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

  int64_t From(size_t i) const {
    return from_.empty() ? static_cast<int64_t>(i) * from_step_ : from_[i];
  }

  // body(function, begin, end) for parts of the result that cover it: each takes the updates of
  // elements [begin, end), in their order.
  template <typename Body>
  Status ForParts(int64_t elements, int64_t parts, const Body& body) {
    return combine_.ForRanges(parts, 1, [&](VectorizedComputation& own, IndexRange part) -> Status {
      return body(own, elements / parts * part.begin,
                  part.end == parts ? elements : elements / parts * part.end);
    });
  }

  // Single elements: as many updates are combined at once as have different places.
  Status ApplyScalars(std::span<const Buffer> results) {
    const int64_t elements = ElementCount(call_.operand_shape(0));
    // How many parts there are changes nothing but who does what.
    const int64_t parts =
        std::ssize(to_) < 2 * kGrain ? 1 : std::min(kParts, call_.machine.run().threads());
    if (arity_ == 1 && from_step_ == 1 && combine_.OnlyUpdate() != nullptr) {
      HLOSCOPE_TRY(call_.machine.Charge(std::ssize(to_)));
      return ForParts(elements, parts, [&](VectorizedComputation&, int64_t begin, int64_t end) {
        return ApplyInPlace(results[0], begin, end);
      });
    }
    return ForParts(
        elements, parts, [&](VectorizedComputation& own, int64_t begin, int64_t end) -> Status {
          std::vector<uint8_t> stamps(kStamps, 0);
          std::vector<int64_t> to, from;
          to.reserve(VectorizedComputation::kLanes);
          from.reserve(VectorizedComputation::kLanes);
          uint8_t stamp = 1;
          LaneBuffers buffers(bytes_);
          for (size_t i = 0; i < to_.size(); ++i) {
            if (to_[i] < begin || to_[i] >= end) continue;
            uint8_t& last = stamps[static_cast<uint64_t>(to_[i]) % kStamps];
            if (last == stamp || to.size() == static_cast<size_t>(VectorizedComputation::kLanes)) {
              HLOSCOPE_TRY(Flush(own, results, to, from, buffers));
              if (++stamp == 0) {
                std::ranges::fill(stamps, uint8_t{0});
                stamp = 1;
              }
            }
            last = stamp;
            to.push_back(to_[i]);
            from.push_back(From(i));
          }
          return Flush(own, results, to, from, buffers);
        });
  }

  // Single elements of one array, their updates side by side, under a single operation.
  Status ApplyInPlace(const Buffer& result, int64_t begin, int64_t end) const {
    const UpdateLoop loop = combine_.OnlyUpdate();
    for (size_t at = 0; at < to_.size(); at += kUpdatesBetweenLooks) {
      HLOSCOPE_TRY(call_.machine.run().Look());
      loop({result.data(), to_.subspan(at, std::min(kUpdatesBetweenLooks, to_.size() - at)),
            call_.operands[2].data() + at * static_cast<size_t>(bytes_[0]), begin, end});
    }
    return {};
  }

  // Room for kLanes elements of what is there, the updates and the results, of each array.
  struct LaneBuffers {
    explicit LaneBuffers(std::span<const int> bytes) {
      for (size_t i = 0; i < 3 * bytes.size(); ++i) {
        storage.emplace_back(
            static_cast<size_t>(VectorizedComputation::kLanes * bytes[i % bytes.size()]));
        if (i < 2 * bytes.size()) in.push_back(storage.back().data());
        if (i >= 2 * bytes.size()) out.push_back(storage.back().data());
      }
    }
    std::vector<std::vector<std::byte>> storage;
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
  };

  // Combines updates `from` with different elements `to`, and empties both.
  Status Flush(VectorizedComputation& own, std::span<const Buffer> results,
               std::vector<int64_t>& to, std::vector<int64_t>& from, LaneBuffers& buffers) const {
    if (to.empty()) return {};
    for (size_t k = 0; k < arity_; ++k) {
      WithBytes(bytes_[k], [&]<typename T>(T) {
        T* there = reinterpret_cast<T*>(buffers.storage[k].data());
        T* update = reinterpret_cast<T*>(buffers.storage[arity_ + k].data());
        const T* updates = call_.operands[arity_ + 1 + k].as<T>();
        for (size_t i = 0; i < to.size(); ++i) {
          there[i] = results[k].as<T>()[to[i]];
          update[i] = updates[from[i]];
        }
      });
    }
    HLOSCOPE_TRY(own.Run(buffers.in, buffers.out, std::ssize(to)));
    for (size_t k = 0; k < arity_; ++k) {
      WithBytes(bytes_[k], [&]<typename T>(T) {
        const T* combined = reinterpret_cast<const T*>(buffers.out[k]);
        for (size_t i = 0; i < to.size(); ++i) results[k].as<T>()[to[i]] = combined[i];
      });
    }
    to.clear();
    from.clear();
    return {};
  }

  // True if rows can be combined where they are: one array, windows that are dense rows, and a
  // single operation or the update itself.
  bool HasDenseRows() const {
    return arity_ == 1 && read_[0].IsDense() && update_[0].IsDense() &&
           (combine_.OnlyOperation() != nullptr || combine_.IsParameter(1));
  }

  Status ApplyRows(const Buffer& result, bool in_one_part) {
    const LaneKernel* operation = combine_.OnlyOperation();
    const int bytes = bytes_[0];
    const int64_t elements = static_cast<int64_t>(result.size) / bytes;
    const int64_t parts = in_one_part || std::ssize(to_) * lanes_ < 2 * kGrain
                              ? 1
                              : std::min(kParts, call_.machine.run().threads());
    HLOSCOPE_TRY(call_.machine.Charge(std::ssize(to_) * lanes_));
    return ForParts(elements, parts,
                    [&](VectorizedComputation&, int64_t begin, int64_t end) -> Status {
                      for (size_t i = 0; i < to_.size(); ++i) {
                        if (i % kUpdatesBetweenLooks == 0) HLOSCOPE_TRY(call_.machine.run().Look());
                        if (to_[i] < begin || to_[i] >= end) continue;
                        std::byte* to = result.data() + to_[i] * bytes;
                        const std::byte* update = call_.operands[2].data() + From(i) * bytes;
                        if (operation != nullptr) {
                          operation->Run({to, update, nullptr}, to, lanes_);
                        } else {
                          std::memcpy(to, update, static_cast<size_t>(lanes_ * bytes));
                        }
                      }
                      return {};
                    });
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
  VectorizedComputation& combine_;
  size_t arity_;
  int64_t lanes_ = 1;
  Buffer to_memory_;
  std::span<int64_t> to_;      // offsets of the windows, -1 for those outside
  std::vector<int64_t> from_;  // offsets of their updates; empty: from_step_ apart
  int64_t from_step_ = 0;
  std::vector<int> bytes_;
  std::vector<StridedCopy> read_, update_, write_;
  std::vector<Buffer> scratch_;
  std::vector<const std::byte*> in_;
  std::vector<std::byte*> out_;
};

}  // namespace

Result<Value> ScatterKernel(KernelCall& call) {
  const auto combine_id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  const size_t arity = call.operands.size() / 2;
  HLOSCOPE_ASSIGN_OR_RETURN(
      VectorizedComputation combine,
      CompileReducer(call, combine_id, ElementTypesOf(call.operands.first(arity)),
                     {ElementTypesOf(call.operands.subspan(arity + 1))}));
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
