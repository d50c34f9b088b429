// Shape rules of dot, ragged-dot and scaled-dot (XLA: ShapeInference::InferDotOpShape,
// InferRaggedDotOpShape; ShapeVerifier::HandleScaledDot).
#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

using enum AttributeKey;

// Batch and contracting dimensions of one side are in range and all different.
Status CheckSide(const InferenceInput& input, const DotSide& side, AttributeKey batch_key,
                 AttributeKey contracting_key, size_t rank) {
  const auto batch = side.batch, contracting = side.contracting;
  HLOSCOPE_TRY(CheckInRange(input, batch_key, batch, rank));
  HLOSCOPE_TRY(CheckInRange(input, contracting_key, contracting, rank));
  HLOSCOPE_TRY(CheckUnique(input, batch_key, batch));
  HLOSCOPE_TRY(CheckUnique(input, contracting_key, contracting));
  for (int64_t dimension : batch) {
    if (!Contains(contracting, dimension)) continue;
    return Fail(input, fmt::format("has dimension {} in both {} and {}", dimension,
                                   Info(batch_key).text, Info(contracting_key).text));
  }
  return {};
}

Status CheckPairs(const InferenceInput& input, std::string_view what, const Shape& lhs,
                  const Shape& rhs, std::span<const int64_t> lhs_dims,
                  std::span<const int64_t> rhs_dims) {
  if (lhs_dims.size() != rhs_dims.size()) {
    return Fail(input, fmt::format("has {} {} dimensions left, {} right", lhs_dims.size(), what,
                                   rhs_dims.size()));
  }
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    int64_t a = lhs.dimension(static_cast<size_t>(lhs_dims[i]));
    int64_t b = rhs.dimension(static_cast<size_t>(rhs_dims[i]));
    if (SizesAgree(a, b)) continue;
    return Fail(input, fmt::format("has {} dimension {} of size {} in {}, dimension {} of size {} "
                                   "in {}",
                                   what, lhs_dims[i], a, Text(lhs), rhs_dims[i], b, Text(rhs)));
  }
  return {};
}

// XLA: ValidateDotDimensionNumbers, CheckDotDimensionConstraints.
Status CheckDims(const InferenceInput& input, const DotDims& dims) {
  for (size_t i = 0; i < 2; ++i) HLOSCOPE_TRY(CheckArray(input, i));
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  HLOSCOPE_TRY(CheckSide(input, dims.lhs, kLhsBatchDims, kLhsContractingDims, lhs.rank()));
  HLOSCOPE_TRY(CheckSide(input, dims.rhs, kRhsBatchDims, kRhsContractingDims, rhs.rank()));
  HLOSCOPE_TRY(
      CheckPairs(input, "contracting", lhs, rhs, dims.lhs.contracting, dims.rhs.contracting));
  return CheckPairs(input, "batch", lhs, rhs, dims.lhs.batch, dims.rhs.batch);
}

// The text may ask for any result type.
ElementType ResultType(const InferenceInput& input) {
  if (input.declared != nullptr && input.declared->IsArray()) return input.declared->element_type();
  return HigherPrecision(input.operands[0]->element_type(), input.operands[1]->element_type());
}

// Batch dimensions, then those of the left and of the right that are left over
// (XLA: GenerateDotResultDimensions).
void AppendResultDimensions(const InferenceInput& input, const DotDims& dims, Shape& result) {
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  for (int64_t i : dims.lhs.batch) AppendDimension(result, lhs, static_cast<size_t>(i));
  for (int64_t i : dims.lhs.Free(lhs.rank())) AppendDimension(result, lhs, static_cast<size_t>(i));
  for (int64_t i : dims.rhs.Free(rhs.rank())) AppendDimension(result, rhs, static_cast<size_t>(i));
}

enum class RaggedMode { kNonContracting, kContracting, kBatch };

Result<int64_t> RaggedDimension(const InferenceInput& input, std::span<const int64_t> ragged) {
  if (ragged.size() != 1) {
    return Fail(input, fmt::format("has lhs_ragged_dims={}, expected 1 dimension", Text(ragged)));
  }
  HLOSCOPE_TRY(CheckInRange(input, kLhsRaggedDims, ragged, input.operands[0]->rank()));
  return ragged[0];
}

// The dimensions of lhs that group_sizes may have before its last one.
std::vector<int64_t> GroupPrefix(const InferenceInput& input, const DotDims& dims, RaggedMode mode,
                                 int64_t ragged) {
  const DotSide& lhs = dims.lhs;
  std::vector<int64_t> prefix(lhs.batch.begin(), lhs.batch.end());
  auto append_until_ragged = [&](std::span<const int64_t> list) {
    for (int64_t d : list) {
      if (d == ragged) return;
      prefix.push_back(d);
    }
  };
  if (mode == RaggedMode::kBatch) {
    prefix.clear();
    append_until_ragged(lhs.batch);
  } else if (mode == RaggedMode::kContracting) {
    append_until_ragged(lhs.contracting);
  } else {
    for (int64_t d = 0; d < ragged && std::cmp_less(d, input.operands[0]->rank()); ++d) {
      if (lhs.IsFree(d)) prefix.push_back(d);
    }
  }
  return prefix;
}

// group_sizes is [groups], or has the sizes of `prefix` in front.
Status CheckGroupSizes(const InferenceInput& input, std::span<const int64_t> prefix) {
  const Shape& groups = *input.operands[2];
  if (groups.rank() == 1) return {};
  bool fits = groups.rank() == prefix.size() + 1;
  for (size_t i = 0; fits && i < prefix.size(); ++i) {
    fits = groups.dimension(i) == input.operands[0]->dimension(static_cast<size_t>(prefix[i]));
  }
  if (fits) return {};
  return Fail(input, fmt::format("has group sizes {}, expected rank 1 or dimensions {} of {} and "
                                 "one more",
                                 Text(groups), Text(prefix), Text(*input.operands[0])));
}

Status CheckGroupDims(const InferenceInput& input, const DotDims& dims, RaggedMode mode,
                      int64_t groups) {
  const Shape& rhs = *input.operands[1];
  size_t expected = mode == RaggedMode::kNonContracting ? 1 : 0;
  if (dims.rhs.group.size() != expected) {
    return Fail(input, fmt::format("has rhs_group_dims={}, expected {} where the ragged "
                                   "dimension is {}",
                                   Text(dims.rhs.group), Counted(expected, "dimension"),
                                   expected == 1 ? "neither batch nor contracting"
                                                 : "batch or contracting"));
  }
  HLOSCOPE_TRY(CheckInRange(input, kRhsGroupDims, dims.rhs.group, rhs.rank()));
  for (int64_t d : dims.rhs.group) {
    if (Contains(dims.rhs.batch, d) || Contains(dims.rhs.contracting, d)) {
      return Fail(input, fmt::format("has rhs_group_dims={}, which is a batch or contracting "
                                     "dimension too",
                                     Text(dims.rhs.group)));
    }
    int64_t size = rhs.dimension(static_cast<size_t>(d));
    if (SizesAgree(size, groups)) continue;
    return Fail(input, fmt::format("has group dimension {} of size {}, expected {}", d, size,
                                   Counted(groups, "group")));
  }
  return {};
}

// The scale of a side is a scalar or divides it in every dimension (XLA: ScalesShapeVerifier).
Status CheckScale(const InferenceInput& input, size_t side) {
  const Shape& operand = *input.operands[side];
  const Shape& scale = *input.operands[side + 2];
  if (scale.IsScalar()) return {};
  bool fits = scale.rank() == operand.rank();
  for (size_t i = 0; fits && i < scale.rank(); ++i) {
    int64_t size = operand.dimension(i), blocks = scale.dimension(i);
    fits = IsUnbounded(size) || IsUnbounded(blocks) || (blocks > 0 ? size % blocks : size) == 0;
  }
  if (fits) return {};
  return Fail(input, fmt::format("has operand {} and scale {}, expected sizes that are multiples",
                                 Text(operand), Text(scale)));
}

}  // namespace

Result<Shape> InferDot(const InferenceInput& input) {
  DotDims dims = DotDimsOf(input.module, input.attributes);
  HLOSCOPE_TRY(CheckDims(input, dims));
  Shape result = Shape::Array(ResultType(input), {});
  AppendResultDimensions(input, dims, result);
  return result;
}

Result<Shape> InferRaggedDot(const InferenceInput& input) {
  DotDims dims = DotDimsOf(input.module, input.attributes);
  HLOSCOPE_TRY(CheckDims(input, dims));
  HLOSCOPE_TRY(CheckArray(input, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t ragged, RaggedDimension(input, dims.lhs_ragged));
  RaggedMode mode = RaggedMode::kNonContracting;
  if (Contains(dims.lhs.batch, ragged)) mode = RaggedMode::kBatch;
  if (Contains(dims.lhs.contracting, ragged)) mode = RaggedMode::kContracting;
  const Shape& group_sizes = *input.operands[2];
  if (group_sizes.rank() == 0) {
    return Fail(input, fmt::format("has group sizes {}, expected rank ≥ 1", Text(group_sizes)));
  }
  HLOSCOPE_TRY(CheckGroupSizes(input, GroupPrefix(input, dims, mode, ragged)));
  size_t last = group_sizes.rank() - 1;
  HLOSCOPE_TRY(CheckGroupDims(input, dims, mode, group_sizes.dimension(last)));
  Shape result = Shape::Array(ResultType(input), {});
  if (mode == RaggedMode::kContracting) AppendDimension(result, group_sizes, last);
  AppendResultDimensions(input, dims, result);
  return result;
}

// The scales (operands 2 and 3) do not take part in the result's shape; the global ones (4 and 5)
// are scalars.
Result<Shape> InferScaledDot(const InferenceInput& input) {
  if (input.operands.size() != 4 && input.operands.size() != 6) {
    return Fail(input,
                fmt::format("has {}, expected 4 or 6", Counted(input.operands.size(), "operand")));
  }
  HLOSCOPE_TRY(CheckArrays(input));
  HLOSCOPE_TRY(CheckScale(input, 0));
  HLOSCOPE_TRY(CheckScale(input, 1));
  if (input.operands[2]->IsScalar() && input.operands[3]->IsScalar()) {
    return Fail(input, "has two scalar scales, expected at least one array");
  }
  for (const Shape* global : input.operands.subspan(4)) {
    if (global->IsScalar()) continue;
    return Fail(input, fmt::format("has global scale {}, expected a scalar", Text(*global)));
  }
  return InferDot(input);
}

}  // namespace hloscope::hlo
