// Kernels of reduce, map and the results they share with reduce-window.
#include "core/eval/kernels/reduction.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"
#include "core/hlo/analysis/reducer.h"

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

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr int64_t kGrain = 1 << 16;   // elements to a range
constexpr int64_t kWideRow = 64;      // from so many lanes on, rows are folded in place
constexpr int64_t kShortRow = 128;    // rows of fewer elements are folded side by side
constexpr int64_t kTurned = 1 << 19;  // elements of such a block
constexpr int64_t kColumnChunk = kGrain / kLanes;  // rows; a power of two
static_assert((kColumnChunk & (kColumnChunk - 1)) == 0);

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
  HLOSCOPE_TRY(StridedCopy(sizes, in_strides, RowMajorStrides(sizes), hlo::StorageBytes(type))
                   .Run(call.machine, in.data(), buffer.data()));
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
  arranged.reduced_first = !kept.empty() && (reduced.empty() || kept.back() > reduced.back());
  std::vector<int64_t> order = arranged.reduced_first ? reduced : kept;
  const auto& rest = arranged.reduced_first ? kept : reduced;
  order.insert(order.end(), rest.begin(), rest.end());
  for (size_t i = 0; i < arity; ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value array, Transposed(call, call.operands[i], order));
    arranged.arrays.push_back(std::move(array));
  }
  return arranged;
}

// Arrays side by side, one of each value that is reduced.
struct Arrays {
  std::vector<const std::byte*> data;
  std::vector<int> bytes;  // of an element

  std::vector<const std::byte*> At(int64_t element) const {
    std::vector<const std::byte*> at;
    for (size_t i = 0; i < data.size(); ++i) at.push_back(data[i] + element * bytes[i]);
    return at;
  }
};

// The folds that make up a reduction, shared out to threads in pieces whose bounds depend on the
// sizes alone.
class Folder {
 public:
  Folder(KernelCall& call, VectorizedComputation& reducer, const ReductionResults& results)
      : call_(call), reducer_(reducer), results_(results), init_(InitialElements(call)) {
    for (const Shape& shape : results.shapes) {
      bytes_.push_back(hlo::StorageBytes(shape.element_type()));
    }
  }

  Status Fold(const Arranged& arranged) {
    Arrays in{{}, bytes_};
    for (const Value& array : arranged.arrays) in.data.push_back(array.data());
    if (arranged.reduced_first && arranged.kept >= kWideRow) {
      return FoldColumns(in, arranged.reduced, arranged.kept);
    }
    if (arranged.reduced_first) return FoldDense(in, 1, arranged.reduced, arranged.kept);
    // Rows that are folded from the left are too, for want of lanes within them.
    const bool is_short = arranged.reduced < kShortRow && arranged.kept >= kWideRow;
    if (is_short || (!reducer_.IsAssociative() && arranged.kept > 1)) {
      return FoldShortRows(in, arranged.kept, arranged.reduced);
    }
    return FoldDense(in, arranged.kept, arranged.reduced, 1);
  }

 private:
  struct Scratch {
    std::vector<Buffer> buffers;
    Arrays arrays;
    std::vector<std::byte*> At(int64_t element) const {
      std::vector<std::byte*> at;
      for (size_t i = 0; i < buffers.size(); ++i) {
        at.push_back(buffers[i].data() + element * arrays.bytes[i]);
      }
      return at;
    }
  };
  Result<Scratch> MakeScratch(int64_t elements) {
    Scratch scratch{{}, {{}, bytes_}};
    for (int bytes : bytes_) {
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call_.machine.Allocate(elements * bytes));
      scratch.arrays.data.push_back(buffer.data());
      scratch.buffers.push_back(std::move(buffer));
    }
    return scratch;
  }

  // body(tree, i) for each i below n, `elements` being what one takes.
  template <typename Body>
  Status ForEach(int64_t n, int64_t elements, const Body& body) {
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements));
    return reducer_.ForRanges(n, grain,
                              [&](VectorizedComputation& reducer, IndexRange range) -> Status {
                                TreeReducer tree(reducer, init_);
                                for (int64_t i = range.begin; i < range.end; ++i)
                                  HLOSCOPE_TRY(body(tree, i));
                                return {};
                              });
  }

  // `folds` folds of `rows` dense rows of `lanes` elements each.
  Status FoldDense(const Arrays& in, int64_t folds, int64_t rows, int64_t lanes) {
    const int64_t chunk = std::max<int64_t>(
        1, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kGrain / lanes))));
    if (!reducer_.IsAssociative() || rows <= 2 * chunk) {
      return ForEach(folds, rows * lanes, [&](TreeReducer& tree, int64_t f) {
        return tree.FoldDense(in.At(f * rows * lanes), rows, lanes, results_.At(f * lanes));
      });
    }
    const int64_t chunks = (rows - 1) / chunk + 1;
    HLOSCOPE_ASSIGN_OR_RETURN(const Scratch partial, MakeScratch(folds * chunks * lanes));
    HLOSCOPE_TRY(ForEach(folds * chunks, chunk * lanes, [&](TreeReducer& tree, int64_t i) {
      const int64_t first = i % chunks * chunk;
      return tree.FoldTree(in.At((i / chunks * rows + first) * lanes),
                           std::min(chunk, rows - first), lanes, partial.At(i * lanes));
    }));
    return FoldDense(partial.arrays, folds, chunks, lanes);
  }

  // `columns` folds, each of `rows` elements that are a whole row apart.
  Status FoldColumns(const Arrays& in, int64_t rows, int64_t columns) {
    const int64_t strips = (columns - 1) / kLanes + 1;
    const auto rows_at = [&](int64_t first, int64_t count, int64_t column) {
      std::vector<const std::byte*> at;
      for (int64_t r = first; r < first + count; ++r) {
        for (size_t i = 0; i < in.data.size(); ++i) {
          at.push_back(in.data[i] + (r * columns + column) * in.bytes[i]);
        }
      }
      return at;
    };
    if (!reducer_.IsAssociative() || rows <= 2 * kColumnChunk) {
      return ForEach(strips, rows * kLanes, [&](TreeReducer& tree, int64_t s) {
        return tree.FoldColumns(rows_at(0, rows, s * kLanes),
                                std::min(kLanes, columns - s * kLanes), results_.At(s * kLanes));
      });
    }
    const int64_t chunks = (rows - 1) / kColumnChunk + 1;
    HLOSCOPE_ASSIGN_OR_RETURN(const Scratch partial, MakeScratch(chunks * columns));
    HLOSCOPE_TRY(ForEach(strips * chunks, kColumnChunk * kLanes, [&](TreeReducer& tree, int64_t i) {
      const int64_t column = i % strips * kLanes, first = i / strips * kColumnChunk;
      return tree.FoldColumnTrees(rows_at(first, std::min(kColumnChunk, rows - first), column),
                                  std::min(kLanes, columns - column),
                                  partial.At(i / strips * columns + column));
    }));
    return FoldColumns(partial.arrays, chunks, columns);
  }

  // Rows one below the other become columns, a block of them at a time.
  Status FoldShortRows(const Arrays& in, int64_t rows, int64_t length) {
    const int64_t block = std::clamp<int64_t>(kTurned / std::max<int64_t>(1, length), 1, kLanes);
    return ForEach((rows - 1) / block + 1, length * block, [&](TreeReducer& tree, int64_t b) {
      const int64_t first = b * block, lanes = std::min(block, rows - first);
      std::vector<std::vector<std::byte>> turned;
      for (size_t i = 0; i < in.data.size(); ++i) {
        turned.emplace_back(static_cast<size_t>(length * lanes * in.bytes[i]));
        const int64_t sizes[] = {length, lanes}, from[] = {1, length}, to[] = {lanes, 1};
        StridedCopy(sizes, from, to, in.bytes[i])
            .Run(in.data[i] + first * length * in.bytes[i], turned[i].data());
      }
      std::vector<const std::byte*> columns;
      for (int64_t r = 0; r < length; ++r) {
        for (size_t i = 0; i < turned.size(); ++i) {
          columns.push_back(turned[i].data() + r * lanes * in.bytes[i]);
        }
      }
      return tree.FoldColumns(columns, lanes, results_.At(first));
    });
  }

  KernelCall& call_;
  VectorizedComputation& reducer_;
  const ReductionResults& results_;
  std::vector<const std::byte*> init_;
  std::vector<int> bytes_;
};

// What is rounded each time is folded in windows first: the operand becomes their results.
Status FoldInWindows(KernelCall& call, VectorizedComputation& reducer) {
  const auto fold = hlo::RoundedFoldOf(call.module(), call.id);
  if (!fold) return {};
  const auto reduced = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  for (;;) {
    const Shape& shape = call.operand_shape(0);
    const auto window = hlo::FoldWindows(shape.dimensions(), reduced);
    if (!window) return {};
    std::vector<int64_t> sizes;
    for (size_t d = 0; d < shape.rank(); ++d) {
      const int64_t each = window->dimensions[d].size;
      sizes.push_back((shape.dimension(d) + each - 1) / each);
    }
    const Shape scalar = Shape::Scalar(shape.element_type());
    const Shape result = Shape::Array(shape.element_type(), sizes);
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer neutral, call.machine.Allocate(scalar));
    std::ranges::copy(fold->neutral, neutral.data());
    HLOSCOPE_ASSIGN_OR_RETURN(call.operands[0],
                              ReduceOverWindow(call, reducer, *window, call.operands[0],
                                               Value::Array(scalar, std::move(neutral)), result));
  }
}

}  // namespace

std::vector<const std::byte*> InitialElements(const KernelCall& call) {
  std::vector<const std::byte*> init;
  for (size_t i = call.operands.size() / 2; i < call.operands.size(); ++i) {
    init.push_back(call.operands[i].data());
  }
  return init;
}

Result<VectorizedComputation> CompileReduction(const KernelCall& call, hlo::ComputationId reducer) {
  const size_t arity = call.operands.size() / 2;
  return CompileReducer(
      call, reducer, ElementTypesOf(call.operands.first(arity)),
      {ElementTypesOf(call.operands.subspan(arity)), ElementTypesOf(call.shape())});
}

Result<Value> ReduceKernel(KernelCall& call) {
  const auto reducer_id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  const size_t arity = call.operands.size() / 2;
  HLOSCOPE_ASSIGN_OR_RETURN(VectorizedComputation reducer, CompileReduction(call, reducer_id));
  HLOSCOPE_TRY(FoldInWindows(call, reducer));
  HLOSCOPE_ASSIGN_OR_RETURN(const Arranged arranged, Arrange(call, arity));
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  if (arranged.kept != 0) HLOSCOPE_TRY(Folder(call, reducer, results).Fold(arranged));
  return std::move(results).Finish();
}

Result<Value> MapKernel(KernelCall& call) {
  const auto body = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(
      VectorizedComputation function,
      CompileLanes(call, body, ElementTypesOf(call.operands), ElementTypesOf(call.shape())));
  std::vector<const std::byte*> in;
  for (const Value& operand : call.operands) in.push_back(operand.data());
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  const auto parameters = function.parameter_types();
  HLOSCOPE_TRY(function.ForRanges(
      ElementCount(results.shapes[0]), kGrain, [&](VectorizedComputation& own, IndexRange range) {
        std::vector<const std::byte*> from;
        for (size_t i = 0; i < in.size(); ++i) {
          from.push_back(in[i] + range.begin * hlo::StorageBytes(parameters[i]));
        }
        return own.Run(from, results.At(range.begin), range.end - range.begin);
      }));
  return std::move(results).Finish();
}

}  // namespace hloscope::eval
