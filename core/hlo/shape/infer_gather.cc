// Shape rules of gather and scatter (XLA: ShapeInference::InferGatherShape, InferScatterShape).
#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

using enum AttributeKey;

// The indices as both rules see them: a size-1 index vector is added where index_vector_dim is
// their rank.
struct Indices {
  Shape shape;
  size_t vector_dimension = 0;
  int64_t vector_size() const { return shape.dimension(vector_dimension); }
};

Result<Indices> ReadIndices(const InferenceInput& input, size_t operand) {
  HLOSCOPE_TRY(CheckArray(input, operand));
  const Shape& shape = *input.operands[operand];
  if (!IsInteger(shape.element_type())) {
    return Fail(input, fmt::format("has indices {}, expected integers", Text(shape)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t dimension, NeedInt(input, kIndexVectorDim));
  if (dimension < 0 || std::cmp_greater(dimension, shape.rank())) {
    return Fail(input, fmt::format("has index_vector_dim={} for indices {}, expected 0 to {}",
                                   dimension, Text(shape), shape.rank()));
  }
  Indices indices{.shape = shape, .vector_dimension = static_cast<size_t>(dimension)};
  indices.shape.clear_layout();
  if (indices.vector_dimension == shape.rank()) indices.shape.add_dimension(1);
  return indices;
}

// Batching dimensions come in pairs: ascending ones of the operand, any of the indices.
Status CheckBatching(const InferenceInput& input, AttributeKey operand_key,
                     AttributeKey indices_key, size_t operand_rank, size_t indices_rank) {
  std::span<const int64_t> of_operand = IntsOr(input, operand_key);
  std::span<const int64_t> of_indices = IntsOr(input, indices_key);
  if (of_operand.size() != of_indices.size()) {
    return Fail(input,
                fmt::format("has {} in {}=, {} in {}=", Counted(of_operand.size(), "dimension"),
                            Info(operand_key).text, of_indices.size(), Info(indices_key).text));
  }
  HLOSCOPE_TRY(CheckAscending(input, operand_key, of_operand, operand_rank));
  HLOSCOPE_TRY(CheckInRange(input, indices_key, of_indices, indices_rank));
  return CheckUnique(input, indices_key, of_indices);
}

// A dimension that two of the lists name would be indexed in two ways. XLA's verifier looks at each
// list by itself and finds it later, where batching dimensions become indices: "… must not repeat".
Status CheckApart(const InferenceInput& input, AttributeKey key, AttributeKey other_key) {
  std::span<const int64_t> other = IntsOr(input, other_key);
  for (const int64_t d : IntsOr(input, key)) {
    if (!Contains(other, d)) continue;
    return Fail(input, fmt::format("has dimension {} in {}= and in {}=, expected in one of them", d,
                                   Info(key).text, Info(other_key).text));
  }
  return {};
}

// Which operand dimension each element of an index vector is for.
Status CheckIndexMap(const InferenceInput& input, AttributeKey key, const Indices& indices,
                     size_t operand_rank) {
  std::span<const int64_t> map = IntsOr(input, key);
  if (!SizesAgree(indices.vector_size(), static_cast<int64_t>(map.size()))) {
    return Fail(input, fmt::format("has {}={} for index vectors of size {}", Info(key).text,
                                   Text(map), indices.vector_size()));
  }
  HLOSCOPE_TRY(CheckInRange(input, key, map, operand_rank));
  return CheckUnique(input, key, map);
}

// XLA: ValidateGatherDimensionNumbers.
Status CheckGatherDims(const InferenceInput& input, const Indices& indices) {
  size_t rank = input.operands[0]->rank(), indices_rank = indices.shape.rank();
  std::span<const int64_t> offsets = IntsOr(input, kOffsetDims);
  HLOSCOPE_TRY(CheckAscending(input, kOffsetDims, offsets, offsets.size() + indices_rank - 1));
  HLOSCOPE_TRY(CheckIndexMap(input, kStartIndexMap, indices, rank));
  HLOSCOPE_TRY(
      CheckAscending(input, kCollapsedSliceDims, IntsOr(input, kCollapsedSliceDims), rank));
  HLOSCOPE_TRY(
      CheckBatching(input, kOperandBatchingDims, kStartIndicesBatchingDims, rank, indices_rank));
  // start_index_map may name a batching dimension; the batch then decides the index.
  return CheckApart(input, kCollapsedSliceDims, kOperandBatchingDims);
}

Status CheckSliceSizes(const InferenceInput& input, const GatherDims& dims) {
  std::span<const int64_t> sizes = dims.slice_sizes;
  const Shape& operand = *input.operands[0];
  const auto collapsed = dims.collapsed_slice_dims, batching = dims.operand_batching_dims;
  size_t covered = dims.offset_dims.size() + collapsed.size() + batching.size();
  if (sizes.size() != operand.rank() || covered != operand.rank()) {
    return Fail(input, fmt::format("has slice_sizes={} and {} offset, collapsed and batching "
                                   "dimensions for operand {}, expected {} of each",
                                   Text(sizes), covered, Text(operand), operand.rank()));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    bool single =
        Contains(collapsed, static_cast<int64_t>(i)) || Contains(batching, static_cast<int64_t>(i));
    int64_t most = operand.dimension(i);
    if (sizes[i] >= 0 && (IsUnbounded(most) || sizes[i] <= most) && !(single && sizes[i] > 1)) {
      continue;
    }
    return Fail(input,
                fmt::format("has slice_sizes={} with {} for dimension {} of size {}{}", Text(sizes),
                            sizes[i], i, most, single ? ", which is collapsed or batching" : ""));
  }
  return {};
}

// XLA: ValidateScatterDimensionNumbers.
Status CheckScatterDims(const InferenceInput& input, const ScatterDims& dims, const Shape& operand,
                        const Shape& updates, const Indices& indices) {
  const auto windows = dims.update_window_dims, inserted = dims.inserted_window_dims;
  size_t expected_rank = indices.shape.rank() - 1 + windows.size();
  if (updates.rank() != expected_rank) {
    return Fail(input,
                fmt::format("has updates {}, expected rank {}", Text(updates), expected_rank));
  }
  HLOSCOPE_TRY(CheckAscending(input, kUpdateWindowDims, windows, updates.rank()));
  HLOSCOPE_TRY(CheckAscending(input, kInsertedWindowDims, inserted, operand.rank()));
  size_t covered = windows.size() + inserted.size() + dims.input_batching_dims.size();
  if (covered != operand.rank()) {
    return Fail(input, fmt::format("has {} window, inserted and batching dimensions for operand {}",
                                   covered, Text(operand)));
  }
  HLOSCOPE_TRY(CheckIndexMap(input, kScatterDimsToOperandDims, indices, operand.rank()));
  HLOSCOPE_TRY(CheckBatching(input, kInputBatchingDims, kScatterIndicesBatchingDims, operand.rank(),
                             indices.shape.rank()));
  // As in a gather.
  return CheckApart(input, kInsertedWindowDims, kInputBatchingDims);
}

// Updates fit the operand in their window dimensions and the indices in the others.
Status CheckUpdates(const InferenceInput& input, const ScatterDims& dims, const Shape& operand,
                    const Shape& updates, const Indices& indices) {
  const std::vector<size_t> bounds = dims.WindowDims(operand.rank());
  size_t window = 0, place = 0;
  for (size_t i = 0; i < updates.rank(); ++i) {
    int64_t size = updates.dimension(i);
    if (Contains(dims.update_window_dims, static_cast<int64_t>(i))) {
      int64_t most = window < bounds.size() ? operand.dimension(bounds[window]) : 0;
      ++window;
      if (IsUnbounded(size) || IsUnbounded(most) || size <= most) continue;
      return Fail(input, fmt::format("has updates {} with window dimension {} larger than {} of "
                                     "operand {}",
                                     Text(updates), i, most, Text(operand)));
    }
    if (place == indices.vector_dimension) ++place;
    int64_t expected = indices.shape.dimension(place++);
    if (SizesAgree(size, expected)) continue;
    return Fail(input, fmt::format("has updates {} with dimension {} of size {}, indices have {}",
                                   Text(updates), i, size, expected));
  }
  return {};
}

}  // namespace

Result<Shape> InferGather(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(Indices indices, ReadIndices(input, 1));
  HLOSCOPE_TRY(CheckGatherDims(input, indices));
  HLOSCOPE_ASSIGN_OR_RETURN(auto sizes, NeedInts(input, kSliceSizes));
  const GatherDims dims = GatherDimsOf(input.module, input.attributes);
  HLOSCOPE_TRY(CheckSliceSizes(input, dims));
  const auto offsets = dims.offset_dims, collapsed = dims.collapsed_slice_dims;
  const auto batching = dims.operand_batching_dims;
  Shape result = Shape::Array(operand.element_type(), {});
  size_t slice = 0, place = 0;
  for (size_t i = 0; i < offsets.size() + indices.shape.rank() - 1; ++i) {
    if (!std::ranges::binary_search(offsets, static_cast<int64_t>(i))) {
      if (place == indices.vector_dimension) ++place;
      AppendDimension(result, indices.shape, place++);
      continue;
    }
    while (slice < sizes.size() && (Contains(collapsed, static_cast<int64_t>(slice)) ||
                                    Contains(batching, static_cast<int64_t>(slice)))) {
      ++slice;
    }
    // A whole dynamic dimension stays dynamic.
    bool whole = sizes[slice] == operand.dimension(slice);
    result.add_dimension(sizes[slice], whole && operand.is_dynamic_dimension(slice));
    ++slice;
  }
  return result;
}

Result<Shape> InferScatter(const InferenceInput& input) {
  size_t count = input.operands.size() / 2;
  if (count == 0 || input.operands.size() % 2 == 0) {
    return Fail(input, fmt::format("has {}, expected operands, indices and as many "
                                   "updates",
                                   Counted(input.operands.size(), "operand")));
  }
  HLOSCOPE_TRY(CheckArrays(input));
  HLOSCOPE_ASSIGN_OR_RETURN(Indices indices, ReadIndices(input, count));
  const ScatterDims dims = ScatterDimsOf(input.module, input.attributes);
  std::vector<ElementType> types;
  std::vector<Shape> scalars;
  for (size_t i = 0; i < count; ++i) {
    const Shape& operand = *input.operands[i];
    const Shape& updates = *input.operands[count + 1 + i];
    HLOSCOPE_TRY(CheckScatterDims(input, dims, operand, updates, indices));
    HLOSCOPE_TRY(CheckUpdates(input, dims, operand, updates, indices));
    types.push_back(updates.element_type());
    scalars.push_back(Shape::Scalar(operand.element_type()));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program, NeedProgram(input, kToApply));
  HLOSCOPE_TRY(CheckReducer(input, *program, types, scalars));
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> results, OperandShapes(input));
  results.resize(count);
  return OneOrTuple(std::move(results));
}

}  // namespace hloscope::hlo
