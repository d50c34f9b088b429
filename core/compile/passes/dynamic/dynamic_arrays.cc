// Writing modules of arrays beside their sizes.
#include "core/compile/passes/dynamic/dynamic_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/compile/passes/edit.h"
#include "core/hlo/comparison.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;

bool DynamicArray::is_dynamic() const {
  return std::ranges::any_of(sizes, [](InstructionId size) { return size.valid(); });
}

Shape BoundShape(const Shape& shape) {
  return PlainArray(shape.element_type(), shape.dimensions());
}

bool HasDynamicArray(const Shape& shape) { return !shape.is_static(); }

DynamicWriter::DynamicWriter(const hlo::Module& module) : original_(module), builder_(module) {}

hlo::StringId DynamicWriter::Unique(std::string_view name) {
  std::string unique(name);
  while (builder_.strings().Find(unique).valid()) {
    unique = fmt::format("{}.{}", name, next_number_++);
  }
  return builder_.Intern(unique);
}

InstructionId DynamicWriter::Add(std::string_view name, Opcode opcode, Shape shape,
                                 std::span<const InstructionId> operands,
                                 std::span<const Attribute> attributes) {
  const hlo::ShapeId interned = builder_.InternShape(std::move(shape));
  return builder_.AddInstruction(Unique(name), opcode, interned, operands, attributes);
}

hlo::ComputationId DynamicWriter::AddLater(InstructionId of, std::string_view name,
                                           WriteBody body) {
  const hlo::ComputationId computation = builder_.DeclareComputation(Unique(name));
  later_.push_back({of, computation, std::move(body)});
  return computation;
}

InstructionId DynamicWriter::WriteNext() {
  if (later_.empty()) return {};
  const Later next = std::move(later_.front());
  later_.pop_front();
  builder_.BeginComputation(next.computation);
  const InstructionId root = next.body(*this);
  builder_.EndComputation(root);
  return next.of;
}

InstructionId DynamicWriter::Number(int64_t value) {
  const auto number = static_cast<int32_t>(value);
  const Shape shape = Shape::Scalar(ElementType::kS32);
  const Attribute bytes = builder_.Make(AttributeKey::kConstantValue,
                                        hlo::Literal::Of<int32_t>(shape, std::span(&number, 1)));
  return Add("size", Opcode::kConstant, shape, {}, {bytes});
}

InstructionId DynamicWriter::Zero(ElementType type) {
  const Shape shape = Shape::Scalar(type);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  const Attribute value =
      builder_.Make(AttributeKey::kConstantValue, hlo::Literal::Dense(shape, std::move(bytes)));
  return Add("zero", Opcode::kConstant, shape, {}, {value});
}

InstructionId DynamicWriter::Sum(InstructionId a, InstructionId b) {
  return Add("size", Opcode::kAdd, Shape::Scalar(ElementType::kS32), {a, b});
}

InstructionId DynamicWriter::Broadcast(InstructionId value, const Shape& shape,
                                       std::span<const int64_t> dimensions) {
  return Add("broadcast", Opcode::kBroadcast, shape, {value},
             {builder_.MakeInts(AttributeKey::kDimensions, dimensions)});
}

InstructionId DynamicWriter::Masked(const DynamicArray& array, const Shape& shape,
                                    InstructionId fill) {
  const Shape bounds = BoundShape(shape);
  const Shape numbers = PlainArray(ElementType::kS32, bounds.dimensions());
  const Shape truths = PlainArray(ElementType::kPred, bounds.dimensions());
  InstructionId inside;
  for (size_t d = 0; d < array.sizes.size(); ++d) {
    if (!array.sizes[d].valid()) continue;
    const InstructionId place =
        Add("iota", Opcode::kIota, numbers, {},
            {builder_.MakeInt(AttributeKey::kIotaDimension, static_cast<int64_t>(d))});
    const InstructionId size = Broadcast(array.sizes[d], numbers, {});
    const InstructionId here =
        Add("is_live", Opcode::kCompare, truths, {place, size},
            {builder_.MakeEnum(AttributeKey::kDirection,
                               static_cast<int32_t>(hlo::ComparisonDirection::kLt))});
    inside = inside.valid() ? Add("is_live", Opcode::kAnd, truths, {inside, here}) : here;
  }
  if (!inside.valid()) return array.whole;
  return Add("live", Opcode::kSelect, bounds, {inside, array.whole, Broadcast(fill, bounds, {})});
}

InstructionId DynamicWriter::Joined(const DynamicArray& array, const Shape& shape) {
  InstructionId value = array.whole;
  Shape so_far = BoundShape(shape);
  for (size_t d = 0; d < array.sizes.size(); ++d) {
    if (!shape.is_dynamic_dimension(d)) continue;
    so_far.set_dynamic_dimension(d, true);
    const InstructionId size = array.sizes[d].valid() ? array.sizes[d] : Number(shape.dimension(d));
    const auto dimension = static_cast<int64_t>(d);
    value = Add("joined", Opcode::kSetDimensionSize, so_far, {value, size},
                {builder_.MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1))});
  }
  return value;
}

DynamicArray DynamicWriter::Split(InstructionId value, const Shape& shape) {
  DynamicArray array{value, std::vector<InstructionId>(shape.rank())};
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (!shape.is_dynamic_dimension(d)) continue;
    const auto dimension = static_cast<int64_t>(d);
    array.sizes[d] =
        Add("size", Opcode::kGetDimensionSize, Shape::Scalar(ElementType::kS32), {value},
            {builder_.MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1))});
  }
  Shape so_far = shape.WithoutLayouts();
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (!shape.is_dynamic_dimension(d)) continue;
    so_far.set_dynamic_dimension(d, false);
    const auto dimension = static_cast<int64_t>(d);
    array.whole =
        Add("whole", Opcode::kSetDimensionSize, so_far, {array.whole, Number(shape.dimension(d))},
            {builder_.MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1))});
  }
  return array;
}

}  // namespace hloscope::compile
