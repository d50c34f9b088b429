// The shape rules, one function per ShapeRule, and what they share. Private to shape inference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/shape/shape_inference.h"

namespace hloscope::hlo {

// ---- Rules, by file. Operand counts of fixed arity have been checked before a rule runs.

#define SHAPE_RULE(name, function) Result<Shape> Infer##function(const InferenceInput& input);
#include "core/hlo/shape_rules.def"
#undef SHAPE_RULE
// all-gather-done and collective-permute-done: element 1 of the start's tuple.

// ---- Shared by the rules (infer_shared.cc)

// An input error "<opcode> <message>".
std::unexpected<Error> Fail(const InferenceInput& input, std::string message);
// A shape and a list as messages show them: without layouts, cut where they are long.
std::string Text(const Shape& shape);
std::string Text(std::span<const int64_t> list);

const Attribute* FindAttribute(const InferenceInput& input, AttributeKey key);
int64_t IntOr(const InferenceInput& input, AttributeKey key, int64_t absent);
bool BoolOr(const InferenceInput& input, AttributeKey key, bool absent);
// The list, empty where the attribute is absent.
std::span<const int64_t> IntsOr(const InferenceInput& input, AttributeKey key);
Result<int64_t> NeedInt(const InferenceInput& input, AttributeKey key);
Result<std::span<const int64_t>> NeedInts(const InferenceInput& input, AttributeKey key);
// A list of exactly one dimension below `rank`.
Result<size_t> NeedDimension(const InferenceInput& input, AttributeKey key, size_t rank);
Result<const Shape*> NeedDeclared(const InferenceInput& input);
Result<const ProgramShape*> NeedProgram(const InferenceInput& input, AttributeKey key);
Result<const ProgramShape*> NeedProgram(const InferenceInput& input, ComputationId id);

Status CheckCount(const InferenceInput& input, size_t expected);
Status CheckArray(const InferenceInput& input, size_t operand);
Status CheckArrays(const InferenceInput& input);
// Every number in [0, rank); `name` is the attribute.
Status CheckInRange(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list,
                    size_t rank);
Status CheckUnique(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list);
// Strictly ascending and in range.
Status CheckAscending(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list,
                      size_t rank);
bool Contains(std::span<const int64_t> list, int64_t value);
// The reducer takes 2n scalars and answers n that can be its first n arguments
// (XLA: VerifyReducerShape).
Status CheckReducer(const InferenceInput& input, const ProgramShape& reducer,
                    std::span<const ElementType> elements, std::span<const Shape> init_values);

// As XLA's ShapeUtil: layouts and dynamic marks never matter, an unbounded dimension fits any.
bool CompatibleShapes(const Shape& a, const Shape& b);
bool CompatibleIgnoringPrecision(const Shape& a, const Shape& b);
bool SameDimensions(const Shape& a, const Shape& b);
bool SameTypeIgnoringPrecision(ElementType a, ElementType b);
bool SizesAgree(int64_t a, int64_t b);
// The float type of more range, then precision (XLA: primitive_util::HigherPrecisionType).
ElementType HigherPrecision(ElementType a, ElementType b);

inline bool IsUnbounded(int64_t size) { return size == Shape::kUnboundedSize; }
inline bool IsPredScalar(const Shape& shape) {
  return shape.IsScalar() && shape.element_type() == ElementType::kPred;
}
// `shape` with another element type; keeps its layout.
Shape WithElementType(const Shape& shape, ElementType type);
// Sets size and mark of a dimension; an unbounded one is always dynamic.
void SetDimension(Shape& shape, size_t dimension, int64_t size, bool dynamic);
// Appends dimension `i` of `from`.
void AppendDimension(Shape& shape, const Shape& from, size_t i);
// The one shape, or a tuple of all.
Shape OneOrTuple(std::vector<Shape> shapes);
// Refuses what is too large to copy: a few operands can be tuples of tuples of many elements.
Result<std::vector<Shape>> OperandShapes(const InferenceInput& input);
// The one operand's shape, or a tuple of all.
Result<Shape> OperandOrTuple(const InferenceInput& input);

}  // namespace hloscope::hlo
