// Builds the module of an expansion.
#include "core/hlo/expand/expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/hlo/comparison.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/rewrite/module_copier.h"
#include "core/hlo/scalar_literal.h"
#include "core/hlo/shape/shape_inference.h"

namespace hloscope::hlo::expand {

namespace {

bool SameSizes(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dimensions(), b.dimensions());
}

int64_t SizeAt(const Shape& shape, int64_t dimension) {
  return shape.dimension(static_cast<size_t>(dimension));
}

// Dimensions of an array of that rank, none of them twice.
bool AreDistinct(std::span<const int64_t> batch, std::span<const int64_t> contracting,
                 size_t rank) {
  std::vector<bool> seen(rank);
  auto is_new = [&](int64_t d) {
    if (d < 0 || d >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
    return true;
  };
  return std::ranges::all_of(batch, is_new) && std::ranges::all_of(contracting, is_new);
}

Shape WithType(const Shape& shape, ElementType type) {
  return Shape::Array(type, Dimensions(shape));
}

}  // namespace

const Shape& MainShape(const CallSite& call) {
  return call.shape().IsTuple() && !call.shape().elements().empty() ? call.shape().elements()[0]
                                                                    : call.shape();
}

ElementType WideType(ElementType type) {
  if (IsComplex(type)) return ElementType::kC128;
  return IsFloat(type) ? ElementType::kF64 : type;
}

Expansion::Expansion(const CallSite& call) : call_(call) {
  builder_.header().name = builder_.Intern("expansion");
  entry_ = builder_.DeclareComputation(builder_.Intern("meaning"));
  builder_.SetEntry(entry_);
  builder_.BeginComputation(entry_);
  for (size_t i = 0; i < call.operand_count(); ++i) {
    const Attribute number =
        builder_.MakeInt(AttributeKey::kParameterNumber, static_cast<int64_t>(i));
    const Shape shape = call.has_array(i) ? call.operand_shape(i) : Shape::Token();
    parameters_.push_back(Add(Opcode::kParameter, shape, {}, {&number, 1}));
  }
}

Shape Expansion::ShapeOf(Node node) const { return builder_.module().shape(node); }

Expansion::Node Expansion::Add(Opcode opcode, Shape shape, std::span<const Node> operands,
                               std::span<const Attribute> attributes) {
  const StringId name =
      builder_.Intern(fmt::format("{}.{}", ToString(opcode), builder_.NextInstruction().index));
  return builder_.AddInstruction(name, opcode, builder_.InternShape(std::move(shape)), operands,
                                 attributes);
}

Result<Expansion::Node> Expansion::AddInferred(Opcode opcode, std::span<const Node> operands,
                                               std::span<const Attribute> attributes) {
  std::vector<Shape> shapes;
  for (const Node operand : operands) shapes.push_back(ShapeOf(operand));
  std::vector<const Shape*> pointers;
  for (const Shape& shape : shapes) pointers.push_back(&shape);
  const InferenceInput input{builder_.module(), opcode, pointers, attributes};
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, InferShape(input));
  return Add(opcode, std::move(shape), operands, attributes);
}

Expansion::Node Expansion::Constant(ElementType type, double value) {
  const Attribute literal = builder_.Make(AttributeKey::kConstantValue, ScalarLiteral(type, value));
  return Add(Opcode::kConstant, Shape::Scalar(type), {}, {&literal, 1});
}

Expansion::Node Expansion::Filled(ElementType type, std::vector<int64_t> sizes, double value) {
  return Broadcast(Constant(type, value), std::move(sizes), {});
}

Expansion::Node Expansion::Iota(ElementType type, std::vector<int64_t> sizes, int64_t dimension) {
  const Attribute attribute = builder_.MakeInt(AttributeKey::kIotaDimension, dimension);
  return Add(Opcode::kIota, Shape::Array(type, std::move(sizes)), {}, {&attribute, 1});
}

Expansion::Node Expansion::Unary(Opcode opcode, Node x) { return Add(opcode, ShapeOf(x), {&x, 1}); }

// A scalar beside an array stands for an array of it.
Expansion::Node Expansion::Spread(Node x, const Shape& like) {
  if (ShapeOf(x).rank() != 0 || like.rank() == 0) return x;
  return Broadcast(x, Dimensions(like), {});
}

Expansion::Node Expansion::Binary(Opcode opcode, Node x, Node y) {
  const Shape left = ShapeOf(x), right = ShapeOf(y);
  const Node operands[] = {Spread(x, right), Spread(y, left)};
  Require(SameSizes(ShapeOf(operands[0]), ShapeOf(operands[1])));
  return Add(opcode, ShapeOf(operands[0]), operands);
}

Expansion::Node Expansion::Binary(Opcode opcode, Node x, double y) {
  return Binary(opcode, x, Constant(TypeOf(x), y));
}

Expansion::Node Expansion::Compare(ComparisonDirection direction, Node x, Node y) {
  const Shape left = ShapeOf(x), right = ShapeOf(y);
  const Node operands[] = {Spread(x, right), Spread(y, left)};
  Require(SameSizes(ShapeOf(operands[0]), ShapeOf(operands[1])));
  const Attribute attributes[] = {
      builder_.MakeEnum(AttributeKey::kComparisonType,
                        static_cast<int32_t>(DefaultComparisonType(left.element_type()))),
      builder_.MakeEnum(AttributeKey::kDirection, static_cast<int32_t>(direction))};
  return Add(Opcode::kCompare, WithType(ShapeOf(operands[0]), ElementType::kPred), operands,
             attributes);
}

Expansion::Node Expansion::Select(Node condition, Node x, Node y) {
  const Shape like = ShapeOf(condition);
  const Node operands[] = {condition, Spread(x, like), Spread(y, like)};
  Require(SameSizes(like, ShapeOf(operands[1])) && SameSizes(like, ShapeOf(operands[2])));
  return Add(Opcode::kSelect, ShapeOf(operands[1]), operands);
}

Expansion::Node Expansion::Convert(Node x, ElementType type) {
  if (TypeOf(x) == type) return x;
  return Add(Opcode::kConvert, WithType(ShapeOf(x), type), {&x, 1});
}

Expansion::Node Expansion::Broadcast(Node x, std::vector<int64_t> sizes,
                                     std::vector<int64_t> dimensions) {
  const Shape shape = ShapeOf(x);
  Require(dimensions.size() == shape.rank());
  for (size_t d = 0; d < dimensions.size() && d < shape.rank(); ++d) {
    const auto at = static_cast<size_t>(dimensions[d]);
    Require(at < sizes.size() && sizes[at] == shape.dimension(d));
  }
  const Attribute attribute = builder_.MakeInts(AttributeKey::kDimensions, dimensions);
  return Add(Opcode::kBroadcast, Shape::Array(TypeOf(x), std::move(sizes)), {&x, 1},
             {&attribute, 1});
}

Expansion::Node Expansion::Reshape(Node x, std::vector<int64_t> sizes) {
  Shape shape = Shape::Array(TypeOf(x), std::move(sizes));
  Require(shape.ElementCount() == ShapeOf(x).ElementCount());
  return Add(Opcode::kReshape, std::move(shape), {&x, 1});
}

Expansion::Node Expansion::Transpose(Node x, std::vector<int64_t> permutation) {
  const Shape shape = ShapeOf(x);
  std::vector<int64_t> sizes;
  Require(permutation.size() == shape.rank());
  for (int64_t d : permutation) {
    Require(d < static_cast<int64_t>(shape.rank()));
    sizes.push_back(fits_ ? shape.dimension(static_cast<size_t>(d)) : 0);
  }
  const Attribute attribute = builder_.MakeInts(AttributeKey::kDimensions, permutation);
  return Add(Opcode::kTranspose, Shape::Array(shape.element_type(), std::move(sizes)), {&x, 1},
             {&attribute, 1});
}

Expansion::Node Expansion::Slice(Node x, std::span<const int64_t> begin,
                                 std::span<const int64_t> end) {
  const Shape shape = ShapeOf(x);
  std::vector<int64_t> sizes, bounds;
  Require(begin.size() == shape.rank() && end.size() == shape.rank());
  for (size_t d = 0; d < begin.size() && fits_; ++d) {
    Require(0 <= begin[d] && begin[d] <= end[d] && end[d] <= shape.dimension(d));
    sizes.push_back(end[d] - begin[d]);
    bounds.insert(bounds.end(), {begin[d], end[d], 1});
  }
  const Attribute attribute = builder_.MakeInts(AttributeKey::kSlice, bounds);
  return Add(Opcode::kSlice, Shape::Array(TypeOf(x), std::move(sizes)), {&x, 1}, {&attribute, 1});
}

Expansion::Node Expansion::Reverse(Node x, std::vector<int64_t> dimensions) {
  const Attribute attribute = builder_.MakeInts(AttributeKey::kDimensions, dimensions);
  return Add(Opcode::kReverse, ShapeOf(x), {&x, 1}, {&attribute, 1});
}

Expansion::Node Expansion::Element(Node tuple, int64_t index) {
  const Attribute attribute = builder_.MakeInt(AttributeKey::kIndex, index);
  const Shape shape = ShapeOf(tuple).elements()[static_cast<size_t>(index)];
  return Add(Opcode::kGetTupleElement, shape, {&tuple, 1}, {&attribute, 1});
}

Expansion::Node Expansion::Reduce(Opcode reducer, Node x, double init,
                                  std::vector<int64_t> dimensions) {
  const Shape shape = ShapeOf(x);
  std::vector<int64_t> kept;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(dimensions, static_cast<int64_t>(d)) == dimensions.end()) {
      kept.push_back(shape.dimension(d));
    }
  }
  const Node operands[] = {x, Constant(shape.element_type(), init)};
  const Attribute attributes[] = {
      builder_.MakeInts(AttributeKey::kDimensions, dimensions),
      builder_.MakeComputation(AttributeKey::kToApply, Combiner(reducer, shape.element_type()))};
  return Add(Opcode::kReduce, Shape::Array(shape.element_type(), std::move(kept)), operands,
             attributes);
}

Expansion::Node Expansion::Dot(Node x, Node y, const DotDimensions& dims, ElementType result) {
  const Shape left = ShapeOf(x), right = ShapeOf(y);
  Require(AreDistinct(dims.lhs_batch, dims.lhs_contracting, left.rank()) &&
          AreDistinct(dims.rhs_batch, dims.rhs_contracting, right.rank()));
  if (!fits_) return x;
  Require(dims.lhs_batch.size() == dims.rhs_batch.size() &&
          dims.lhs_contracting.size() == dims.rhs_contracting.size());
  for (size_t i = 0; i < dims.lhs_batch.size() && fits_; ++i) {
    Require(SizeAt(left, dims.lhs_batch[i]) == SizeAt(right, dims.rhs_batch[i]));
  }
  for (size_t i = 0; i < dims.lhs_contracting.size() && fits_; ++i) {
    Require(SizeAt(left, dims.lhs_contracting[i]) == SizeAt(right, dims.rhs_contracting[i]));
  }
  std::vector<int64_t> sizes;
  for (int64_t d : dims.lhs_batch) sizes.push_back(left.dimension(static_cast<size_t>(d)));
  auto append_free = [&](const Shape& shape, const auto& batch, const auto& contracting) {
    for (int64_t d = 0; d < static_cast<int64_t>(shape.rank()); ++d) {
      if (std::ranges::find(batch, d) != batch.end()) continue;
      if (std::ranges::find(contracting, d) != contracting.end()) continue;
      sizes.push_back(shape.dimension(static_cast<size_t>(d)));
    }
  };
  append_free(left, dims.lhs_batch, dims.lhs_contracting);
  append_free(right, dims.rhs_batch, dims.rhs_contracting);
  const Node operands[] = {x, y};
  const auto attributes = MakeDotDims(
      builder_, {{dims.lhs_batch, dims.lhs_contracting}, {dims.rhs_batch, dims.rhs_contracting}});
  return Add(Opcode::kDot, Shape::Array(result, std::move(sizes)), operands, attributes);
}

Expansion::Node Expansion::Convolution(Node x, Node kernel, Shape result, Window window,
                                       ConvolutionDims dims, int64_t feature_groups,
                                       int64_t batch_groups) {
  const Node operands[] = {x, kernel};
  const Attribute attributes[] = {
      builder_.MakeInt(AttributeKey::kBatchGroupCount, batch_groups),
      builder_.Make(AttributeKey::kDimLabels, std::move(dims)),
      builder_.MakeInt(AttributeKey::kFeatureGroupCount, feature_groups),
      builder_.Make(AttributeKey::kWindow, std::move(window))};
  return Add(Opcode::kConvolution, std::move(result), operands, attributes);
}

ComputationId Expansion::Combiner(Opcode opcode, ElementType type) {
  const auto made = std::ranges::find_if(pending_, [&](const Pending& pending) {
    return pending.opcode == opcode && pending.types[0] == type;
  });
  if (made != pending_.end()) return made->id;
  const ComputationId id = builder_.DeclareComputation(
      builder_.Intern(fmt::format("{}.{}", ToString(opcode), ToString(type))));
  pending_.push_back({id, opcode, {}, {type, type}});
  return id;
}

ComputationId Expansion::Comparator(ComparisonDirection direction,
                                    const std::vector<ElementType>& types) {
  const ComputationId id = builder_.DeclareComputation(builder_.Intern("compare"));
  std::vector<ElementType> parameters;
  for (ElementType type : types) parameters.insert(parameters.end(), 2, type);
  pending_.push_back({id, Opcode::kCompare, direction, std::move(parameters)});
  return id;
}

ComputationId Expansion::Called(ComputationId computation) {
  called_.emplace_back(computation, builder_.DeclareComputation(builder_.Intern("called")));
  return called_.back().second;
}

void Expansion::Copy(ComputationId from, ComputationId to) {
  const Module& module = call_.module();
  ModuleCopier copier(module, builder_);
  std::vector<InstructionId> ids;
  for (uint32_t k = 0; k < module[from].instruction_count; ++k) {
    ids.emplace_back(module[from].first_instruction + k);
  }
  copier.CopyCallees(ids);
  builder_.BeginComputation(to);
  for (const InstructionId id : ids) {
    std::vector<Node> operands;
    for (const InstructionId operand : module.operands(id)) {
      operands.push_back(copier.new_id(operand));
    }
    copier.CopyInstruction(id, operands);
  }
  builder_.EndComputation(copier.new_id(module[from].root));
}

// Computations are contiguous, so the small ones are written after the entry is complete.
void Expansion::Define(const Pending& pending) {
  builder_.BeginComputation(pending.id);
  std::vector<Node> parameters;
  for (size_t i = 0; i < pending.types.size(); ++i) {
    const Attribute number =
        builder_.MakeInt(AttributeKey::kParameterNumber, static_cast<int64_t>(i));
    parameters.push_back(
        Add(Opcode::kParameter, Shape::Scalar(pending.types[i]), {}, {&number, 1}));
  }
  const std::span<const Node> both(parameters.data(), 2);
  if (pending.opcode != Opcode::kCompare) {
    builder_.EndComputation(Add(pending.opcode, Shape::Scalar(pending.types[0]), both));
    return;
  }
  const ComparisonType type = IsFloat(pending.types[0]) ? ComparisonType::kTotalOrder
                                                        : DefaultComparisonType(pending.types[0]);
  const Attribute attributes[] = {
      builder_.MakeEnum(AttributeKey::kComparisonType, static_cast<int32_t>(type)),
      builder_.MakeEnum(AttributeKey::kDirection, static_cast<int32_t>(pending.direction))};
  builder_.EndComputation(
      Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred), both, attributes));
}

void Expansion::FillUp(std::vector<Node>& results) {
  const auto elements = call_.shape().elements();
  for (size_t i = results.size(); i < elements.size(); ++i) {
    results.push_back(elements[i].IsArray()
                          ? Filled(elements[i].element_type(), Dimensions(elements[i]), 0)
                          : Add(Opcode::kAfterAll, Shape::Token(), {}));
  }
}

Result<ModulePtr> Expansion::Build(Node result) {
  return ShapeOf(result).IsTuple() ? Finish(result) : Build({&result, 1});
}

Result<ModulePtr> Expansion::Build(std::span<const Node> results) {
  if (!call_.shape().IsTuple()) return Finish(results[0]);
  std::vector<Node> elements(results.begin(), results.end());
  FillUp(elements);
  std::vector<Shape> shapes;
  for (Node node : elements) shapes.push_back(ShapeOf(node));
  return Finish(Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)), elements));
}

Result<ModulePtr> Expansion::Finish(Node root) {
  if (!fits_) return Unsupported(call_, "the sizes of its operands have incompatible shapes");
  const Shape shape = ShapeOf(root);
  if (!Compatible(shape, call_.shape(), {.dynamic_dimensions = false})) {
    return Unsupported(call_,
                       fmt::format("its operands and attributes imply {}", ToString(shape, false)));
  }
  builder_.EndComputation(root);
  for (const Pending& pending : pending_) Define(pending);
  for (const auto& [from, to] : called_) Copy(from, to);
  return builder_.Build();
}

}  // namespace hloscope::hlo::expand
