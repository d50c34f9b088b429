// Shape rules of collectives (XLA: ShapeInference::InferAllGatherShape, InferReduceScatterShape,
// InferAllToAllShape, InferCollectivePermuteStartShape …). How many devices take part follows from
// the declared shape, as in XLA's verifier, which compares it with the replica groups.
#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

Status CheckSomeArrays(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  return CheckArrays(input);
}

// The dimension of dimensions={d}, which every operand has.
Result<size_t> CommonDimension(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckSomeArrays(input));
  size_t dimension = 0;
  for (const Shape* operand : input.operands) {
    HLOSCOPE_ASSIGN_OR_RETURN(dimension,
                              NeedDimension(input, AttributeKey::kDimensions, operand->rank()));
  }
  return dimension;
}

// Element `i` of what `result` declares for the operands, along `dimension`.
Result<int64_t> DeclaredSize(const InferenceInput& input, const Shape& result, size_t dimension) {
  size_t count = input.operands.size();
  if (count > 1 && !(result.IsTuple() && result.elements().size() == count)) {
    return Fail(input, fmt::format("has result {}, expected a tuple of {}", Text(result),
                                   Counted(count, "array")));
  }
  const Shape& first = count > 1 ? result.elements()[0] : result;
  if (!first.IsArray() || dimension >= first.rank()) {
    return Fail(input, fmt::format("has result {}, expected an array with dimension {}",
                                   Text(first), dimension));
  }
  return first.dimension(dimension);
}

// The ratio of two sizes, rounded up; 1 where it cannot be known.
int64_t ShardCount(int64_t whole, int64_t part) {
  if (IsUnbounded(whole) || IsUnbounded(part) || whole <= 0 || part <= 0) return 1;
  return whole / part + (whole % part != 0 ? 1 : 0);
}

// All operands, `count` times as long along `dimension`.
Result<Shape> Gathered(const InferenceInput& input, size_t dimension, int64_t count) {
  std::vector<Shape> results;
  for (const Shape* operand : input.operands) {
    Shape result = *operand;
    int64_t size = operand->dimension(dimension);
    std::optional<int64_t> product = IsUnbounded(size) ? size : CheckedMul(size, count);
    if (!product.has_value()) {
      return Fail(input, fmt::format("has a result that overflows: {} times {}", size, count));
    }
    SetDimension(result, dimension, *product, false);
    results.push_back(std::move(result));
  }
  return OneOrTuple(std::move(results));
}

Result<Shape> GatheredTo(const InferenceInput& input, const Shape& declared) {
  HLOSCOPE_ASSIGN_OR_RETURN(size_t dimension, CommonDimension(input));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t size, DeclaredSize(input, declared, dimension));
  return Gathered(input, dimension, ShardCount(size, input.operands[0]->dimension(dimension)));
}

}  // namespace

Result<Shape> InferAllGather(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  return GatheredTo(input, *declared);
}

// A pair of what goes in and what comes out.
Result<Shape> InferAllGatherStart(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  if (!declared->IsTuple() || declared->elements().size() != 2) {
    return Fail(input,
                fmt::format("has result {}, expected a pair of input and result", Text(*declared)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Shape result, GatheredTo(input, declared->elements()[1]));
  HLOSCOPE_ASSIGN_OR_RETURN(Shape operands, OperandOrTuple(input));
  return Shape::Tuple({std::move(operands), std::move(result)});
}

Result<Shape> InferStartResult(const InferenceInput& input) {
  const Shape& start = *input.operands[0];
  if (start.IsTuple() && start.elements().size() >= 2) return start.elements()[1];
  return Fail(input, fmt::format("has operand {}, expected the tuple of a start", Text(start)));
}

Result<Shape> InferAllReduce(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckSomeArrays(input));
  return OperandOrTuple(input);
}

Result<Shape> InferReduceScatter(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  HLOSCOPE_ASSIGN_OR_RETURN(size_t dimension, CommonDimension(input));
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t part, DeclaredSize(input, *declared, dimension));
  int64_t count = ShardCount(input.operands[0]->dimension(dimension), part);
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> results, OperandShapes(input));
  for (Shape& result : results) {
    int64_t size = result.dimension(dimension);
    if (IsUnbounded(size)) continue;
    if (size % count != 0) {
      return Fail(input, fmt::format("has dimension {} of size {}, expected a multiple of {} "
                                     "shards",
                                     dimension, size, count));
    }
    if (result.is_dynamic_dimension(dimension)) size = Shape::kUnboundedSize;
    SetDimension(result, dimension, IsUnbounded(size) ? size : size / count, false);
  }
  return OneOrTuple(std::move(results));
}

// With dimensions= an array is split and put together along the same dimension, which leaves its
// shape; without, operand i goes to device i.
Result<Shape> InferAllToAll(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckSomeArrays(input));
  const Shape& first = *input.operands[0];
  if (FindAttribute(input, AttributeKey::kDimensions) != nullptr) {
    HLOSCOPE_TRY(CheckCount(input, 1));
    HLOSCOPE_TRY(NeedDimension(input, AttributeKey::kDimensions, first.rank()));
    return first;
  }
  for (const Shape* operand : input.operands) {
    if (operand->element_type() == first.element_type() && CompatibleShapes(*operand, first)) {
      continue;
    }
    return Fail(input, fmt::format("has operands {} and {}, expected equal shapes", Text(first),
                                   Text(*operand)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> shapes, OperandShapes(input));
  return Shape::Tuple(std::move(shapes));
}

// Operands: input, output, and offsets and sizes of what is sent and received.
Result<Shape> InferRaggedAllToAll(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& sizes = *input.operands[2];
  for (size_t i = 2; i < input.operands.size(); ++i) {
    const Shape& other = *input.operands[i];
    bool rank = other.rank() == 1 || other.rank() == 2;
    if (rank && CompatibleShapes(sizes, other)) continue;
    return Fail(input, fmt::format("has operand {} of shape {}, expected rank 1 or 2 and the shape "
                                   "{} of operand 2",
                                   i, Text(other), Text(sizes)));
  }
  return *input.operands[1];
}

// With has_dynamic_root the last operand names the root of each of the others.
Result<Shape> InferCollectiveBroadcast(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckSomeArrays(input));
  if (!BoolOr(input, AttributeKey::kHasDynamicRoot, false)) {
    return OperandOrTuple(input);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> results, OperandShapes(input));
  Shape root = std::move(results.back());
  results.pop_back();
  if (results.empty() || root.rank() != 1 || root.element_type() != ElementType::kS32 ||
      root.dimension(0) != static_cast<int64_t>(results.size())) {
    return Fail(input, fmt::format("has roots {}, expected s32[{}]", Text(root), results.size()));
  }
  return OneOrTuple(std::move(results));
}

// The form that updates a buffer in place has operands input, output and the offsets into both,
// which are tuples.
static bool IsInplacePermute(const InferenceInput& input) {
  if (FindAttribute(input, AttributeKey::kSliceSizes) != nullptr) return true;
  if (input.operands.size() == 4 && input.operands[2]->IsTuple()) return true;
  return BoolOr(input, AttributeKey::kInplace, false);
}

// Arrays, or tuples of them.
static Result<Shape> PermutedShape(const InferenceInput& input) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected at least 1");
  return OperandOrTuple(input);
}

Result<Shape> InferCollectivePermute(const InferenceInput& input) {
  if (IsInplacePermute(input)) {
    HLOSCOPE_TRY(CheckCount(input, 4));
    return *input.operands[1];
  }
  return PermutedShape(input);
}

// (in, out, context…); the context is the backend's.
Result<Shape> InferCollectivePermuteStart(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  std::vector<Shape> results;
  if (IsInplacePermute(input)) {
    HLOSCOPE_TRY(CheckCount(input, 4));
    results = {*input.operands[0], *input.operands[1]};
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(Shape both, PermutedShape(input));
    results = {both, both};
  }
  if (declared->IsTuple() && declared->elements().size() > 2) {
    std::span<const Shape> context = declared->elements().subspan(2);
    results.insert(results.end(), context.begin(), context.end());
  }
  return Shape::Tuple(std::move(results));
}

}  // namespace hloscope::hlo
