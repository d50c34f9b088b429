// Custom calls that sort, select and scan: CUB, top-k in its spellings, approximate top-k.
#include <algorithm>
#include <vector>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// Both results of a top-k: the operand's sizes but for at most as many in one dimension.
Status CheckSelected(const CallSite& call, size_t dimension) {
  if (call.operand_count() == 0 || !call.shape().IsTuple() || call.shape().elements().size() < 2) {
    return Unsupported(call, "its result is not a pair of values and indices");
  }
  const Shape& in = call.operand_shape(0);
  for (const Shape& out : call.shape().elements().first(2)) {
    bool fits = out.rank() == in.rank() && in.rank() > dimension;
    for (size_t d = 0; fits && d < in.rank(); ++d) {
      fits = d == dimension ? out.dimension(d) <= in.dimension(d)
                            : out.dimension(d) == in.dimension(d);
    }
    if (!fits) return Unsupported(call, "its results do not match its operand");
  }
  return {};
}

}  // namespace

// The k largest of the last dimension in descending total order, and where they were.
Result<ModulePtr> ExpandTopK(const CallSite& call) {
  const size_t rank = call.operand_count() == 0 ? 0 : call.operand_shape(0).rank();
  if (rank == 0) return Unsupported(call, "its operand has no dimension");
  HLOSCOPE_TRY(CheckSelected(call, rank - 1));
  const auto elements = call.shape().elements();
  Expansion x(call);
  if (elements.size() == 2) {
    // The instruction of that name says the same.
    const Node operand = x.Operand(0);
    std::vector<int64_t> sizes = Dimensions(call.operand_shape(0));
    sizes.back() = elements[0].dimensions().back();
    const Attribute attributes[] = {x.builder().MakeInt(AttributeKey::kK, sizes.back()),
                                    x.builder().MakeBool(AttributeKey::kLargest, true)};
    return x.Build(x.Add(Opcode::kTopK,
                         Shape::Tuple({Shape::Array(x.TypeOf(operand), sizes),
                                       Shape::Array(elements[1].element_type(), sizes)}),
                         {&operand, 1}, attributes));
  }
  const Shape in = x.ShapeOf(x.Operand(0));
  const Node operands[] = {x.Operand(0), x.Iota(elements[1].element_type(), Dimensions(in),
                                                static_cast<int64_t>(rank) - 1)};
  const int64_t dimension[] = {static_cast<int64_t>(rank) - 1};
  const Attribute attributes[] = {
      x.builder().MakeInts(AttributeKey::kDimensions, dimension),
      x.builder().MakeComputation(
          AttributeKey::kToApply,
          x.Comparator(ComparisonDirection::kGt, {in.element_type(), elements[1].element_type()}))};
  const Node sorted =
      x.Add(Opcode::kSort, Shape::Tuple({x.ShapeOf(operands[0]), x.ShapeOf(operands[1])}), operands,
            attributes);
  const std::vector<int64_t> begin(rank, 0), end = Dimensions(elements[0]);
  const Node results[] = {x.Slice(x.Element(sorted, 0), begin, end),
                          x.Slice(x.Element(sorted, 1), begin, end)};
  return x.Build(results);
}

// Keys of the last dimension, and values with them, in order. As CUB does, ±0 are one key.
Result<ModulePtr> ExpandCubSort(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  if (call.operand_count() == 0 || call.operand_count() > 2 || call.operand_shape(0).rank() == 0) {
    return Unsupported(call, "it has neither keys nor pairs");
  }
  const Shape& keys = call.operand_shape(0);
  if (!std::ranges::equal(keys.dimensions(),
                          call.operand_shape(call.operand_count() - 1).dimensions())) {
    return Unsupported(call, "its values do not match its keys");
  }
  const auto direction =
      config.Flag("descending") ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  Expansion x(call);
  Node key = x.Operand(0);
  std::vector<Node> operands;
  std::vector<ElementType> types;
  // A key of its own to compare, without the sign of zeros; what was there goes with it.
  if (IsFloat(keys.element_type())) {
    const Node zero = x.Constant(keys.element_type(), 0);
    const Node is_zero = x.Compare(ComparisonDirection::kEq, key, zero);
    operands.push_back(x.Select(is_zero, zero, key));
  }
  for (size_t i = 0; i < x.operand_count(); ++i) operands.push_back(x.Operand(i));
  std::vector<Shape> shapes;
  for (Node operand : operands) {
    shapes.push_back(x.ShapeOf(operand));
    types.push_back(shapes.back().element_type());
  }
  const int64_t dimension[] = {static_cast<int64_t>(keys.rank()) - 1};
  const Attribute attributes[] = {
      x.builder().MakeInts(AttributeKey::kDimensions, dimension),
      x.builder().MakeComputation(AttributeKey::kToApply, x.Comparator(direction, types))};
  if (operands.size() == 1) {
    return x.Build(x.Add(Opcode::kSort, shapes[0], operands, attributes));
  }
  const Node sorted = x.Add(Opcode::kSort, Shape::Tuple(shapes), operands, attributes);
  std::vector<Node> results;
  for (size_t i = operands.size() - x.operand_count(); i < operands.size(); ++i) {
    results.push_back(x.Element(sorted, static_cast<int64_t>(i)));
  }
  return x.Build(results);
}

namespace {

bool IsRowMajor(const Shape& shape) {
  return !shape.has_layout() ||
         shape.layout().minor_to_major == Layout::Default(shape.rank()).minor_to_major;
}

}  // namespace

// Inclusive sums over rows of row_length vectors of vector_length, column_length rows of them: a
// window that reaches back to the beginning, or on to the end. CUB promises no order.
Result<ModulePtr> ExpandCubScan(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  const Shape& shape = MainShape(call);
  if (call.operand_count() != 1 || !call.has_array(0) ||
      !Compatible(shape, call.operand_shape(0))) {
    return Unsupported(call, "its result does not match its operand");
  }
  const InstructionId operand = call.module().operands(call.id())[0];
  if (!IsRowMajor(shape) || !IsRowMajor(call.module().shape(operand))) {
    return Unsupported(call, "its rows are not contiguous");
  }
  const int64_t rows = config.Integer("column_length", 0), length = config.Integer("row_length", 0);
  const int64_t vector = config.Integer("vector_length", 1);
  const int64_t count = ElementCount(shape);
  if (rows < 1 || length < 1 || vector < 1 || rows > count || length > count / rows ||
      vector != count / rows / length || rows * length * vector != count) {
    return Unsupported(call, "its lengths do not match its operand");
  }
  if (config.Integer("kind", 1) != 1) return Unsupported(call, "only sum scans are supported");
  Expansion x(call);
  Window window;
  window.dimensions.resize(3);
  window.dimensions[1].size = length;
  (config.Flag("is_reverse") ? window.dimensions[1].padding_high
                             : window.dimensions[1].padding_low) = length - 1;
  const ElementType type = shape.element_type();
  const Node operands[] = {x.Reshape(x.Operand(0), {rows, length, vector}), x.Constant(type, 0)};
  const Attribute attributes[] = {
      x.builder().Make(AttributeKey::kWindow, window),
      x.builder().MakeComputation(AttributeKey::kToApply, x.Combiner(Opcode::kAdd, type))};
  const Node sums = x.Add(Opcode::kReduceWindow, x.ShapeOf(operands[0]), operands, attributes);
  return x.Build(x.Reshape(sums, Dimensions(shape)));
}

// The best of each line by the call's own comparator, first ones first. An approximation may leave
// some out; this one (and every fallback of XLA) leaves out none.
Result<ModulePtr> ExpandApproxTopK(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  const auto called = call.module().CalledComputations(call.instruction());
  const size_t arity = call.operand_count() / 2;
  if (called.empty() || arity == 0) return Unsupported(call, "it has no comparator");
  const int64_t dimension = config.Integer("reduction_dim", -1);
  if (dimension < 0) return Unsupported(call, "its backend_config has no reduction_dim");
  const auto d = static_cast<size_t>(dimension);
  const auto outs = call.shape().elements();
  if (arity != outs.size()) return Unsupported(call, "its results do not match its operands");
  for (size_t i = 1; i < arity; ++i) {
    if (!std::ranges::equal(call.operand_shape(0).dimensions(),
                            call.operand_shape(i).dimensions())) {
      return Unsupported(call, "its operands have incompatible shapes");
    }
  }
  HLOSCOPE_TRY(CheckSelected(call, d));
  Expansion x(call);
  std::vector<Node> arrays;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < arity; ++i) {
    arrays.push_back(x.Operand(i));
    shapes.push_back(x.ShapeOf(arrays[i]));
  }
  const Attribute attributes[] = {
      x.builder().MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1)),
      x.builder().MakeInt(AttributeKey::kIsStable, 1),
      x.builder().MakeComputation(AttributeKey::kToApply, x.Called(called[0]))};
  const Node sorted = arity == 1 ? x.Add(Opcode::kSort, shapes[0], arrays, attributes)
                                 : x.Add(Opcode::kSort, Shape::Tuple(shapes), arrays, attributes);
  std::vector<Node> results;
  for (size_t i = 0; i < arity; ++i) {
    const std::vector<int64_t> begin(outs[i].rank(), 0), end = Dimensions(outs[i]);
    const Node all = arity == 1 ? sorted : x.Element(sorted, static_cast<int64_t>(i));
    results.push_back(x.Slice(all, begin, end));
  }
  return x.Build(results);
}

}  // namespace hloscope::hlo::expand
