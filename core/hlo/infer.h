// The shape rules, one function per ShapeRule, and what they share. Private to shape inference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/shape_inference.h"

namespace hloscope::hlo {

// ---- Rules, by file. Operand counts of fixed arity have been checked before a rule runs.

// infer_elementwise.cc
Result<Shape> InferUnary(const InferenceInput& input);
Result<Shape> InferRealImag(const InferenceInput& input);
Result<Shape> InferIsFinite(const InferenceInput& input);
Result<Shape> InferBinary(const InferenceInput& input);
Result<Shape> InferComplex(const InferenceInput& input);
Result<Shape> InferCompare(const InferenceInput& input);
Result<Shape> InferClamp(const InferenceInput& input);
Result<Shape> InferSelect(const InferenceInput& input);
// infer_conversion.cc
Result<Shape> InferConvert(const InferenceInput& input);
Result<Shape> InferBitcastConvert(const InferenceInput& input);
Result<Shape> InferBitcast(const InferenceInput& input);
Result<Shape> InferStochasticConvert(const InferenceInput& input);
Result<Shape> InferReducePrecision(const InferenceInput& input);
// infer_movement.cc
Result<Shape> InferBroadcast(const InferenceInput& input);
Result<Shape> InferReshape(const InferenceInput& input);
Result<Shape> InferDynamicReshape(const InferenceInput& input);
Result<Shape> InferTranspose(const InferenceInput& input);
Result<Shape> InferReverse(const InferenceInput& input);
Result<Shape> InferPad(const InferenceInput& input);
Result<Shape> InferConcatenate(const InferenceInput& input);
Result<Shape> InferGetDimensionSize(const InferenceInput& input);
Result<Shape> InferSetDimensionSize(const InferenceInput& input);
// infer_slice.cc
Result<Shape> InferSlice(const InferenceInput& input);
Result<Shape> InferDynamicSlice(const InferenceInput& input);
Result<Shape> InferDynamicUpdateSlice(const InferenceInput& input);
// infer_gather.cc
Result<Shape> InferGather(const InferenceInput& input);
Result<Shape> InferScatter(const InferenceInput& input);
// infer_dot.cc
Result<Shape> InferDot(const InferenceInput& input);
Result<Shape> InferRaggedDot(const InferenceInput& input);
Result<Shape> InferScaledDot(const InferenceInput& input);
// infer_contraction.cc
Result<Shape> InferConvolution(const InferenceInput& input);
Result<Shape> InferFft(const InferenceInput& input);
Result<Shape> InferCholesky(const InferenceInput& input);
Result<Shape> InferTriangularSolve(const InferenceInput& input);
// infer_reduction.cc
Result<Shape> InferReduce(const InferenceInput& input);
Result<Shape> InferReduceWindow(const InferenceInput& input);
Result<Shape> InferSelectAndScatter(const InferenceInput& input);
Result<Shape> InferMap(const InferenceInput& input);
// infer_scan.cc
Result<Shape> InferScan(const InferenceInput& input);
// infer_sort.cc
Result<Shape> InferSort(const InferenceInput& input);
Result<Shape> InferTopK(const InferenceInput& input);
// infer_batch_norm.cc
Result<Shape> InferBatchNormTraining(const InferenceInput& input);
Result<Shape> InferBatchNormInference(const InferenceInput& input);
Result<Shape> InferBatchNormGrad(const InferenceInput& input);
// infer_control.cc
Result<Shape> InferGiven(const InferenceInput& input);
Result<Shape> InferOperandShape(const InferenceInput& input);
Result<Shape> InferAddDependency(const InferenceInput& input);
Result<Shape> InferToken(const InferenceInput& input);
Result<Shape> InferTuple(const InferenceInput& input);
Result<Shape> InferGetTupleElement(const InferenceInput& input);
Result<Shape> InferCall(const InferenceInput& input);
Result<Shape> InferWhile(const InferenceInput& input);
Result<Shape> InferConditional(const InferenceInput& input);
// infer_async.cc
Result<Shape> InferAsyncStart(const InferenceInput& input);
Result<Shape> InferAsyncUpdate(const InferenceInput& input);
Result<Shape> InferAsyncDone(const InferenceInput& input);
Result<Shape> InferCopyStart(const InferenceInput& input);
Result<Shape> InferCopyDone(const InferenceInput& input);
Result<Shape> InferInfeed(const InferenceInput& input);
Result<Shape> InferOutfeed(const InferenceInput& input);
Result<Shape> InferSend(const InferenceInput& input);
Result<Shape> InferSendDone(const InferenceInput& input);
Result<Shape> InferRecv(const InferenceInput& input);
Result<Shape> InferRecvDone(const InferenceInput& input);
// infer_collective.cc
Result<Shape> InferAllGather(const InferenceInput& input);
Result<Shape> InferAllGatherStart(const InferenceInput& input);
Result<Shape> InferAllReduce(const InferenceInput& input);
Result<Shape> InferReduceScatter(const InferenceInput& input);
Result<Shape> InferAllToAll(const InferenceInput& input);
Result<Shape> InferRaggedAllToAll(const InferenceInput& input);
Result<Shape> InferCollectiveBroadcast(const InferenceInput& input);
Result<Shape> InferCollectivePermute(const InferenceInput& input);
Result<Shape> InferCollectivePermuteStart(const InferenceInput& input);
// all-gather-done and collective-permute-done: element 1 of the start's tuple.
Result<Shape> InferStartResult(const InferenceInput& input);

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
