// What opcodes make of arrays beside their sizes, element for element as the evaluator's live rules
// (core/eval/machine/live_call.h) have it.
#include <algorithm>
#include <limits>

#include "core/compile/passes/dynamic/dynamic_arrays.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

using Made = std::optional<DynamicArray>;
using Sizes = std::vector<InstructionId>;

const Module& ModuleOf(const DynamicCall& call) { return call.writer.original(); }
const Shape& ShapeOf(const DynamicCall& call) { return ModuleOf(call).shape(call.id); }
const Shape& OperandShape(const DynamicCall& call, size_t i) {
  return ModuleOf(call).shape(ModuleOf(call).operands(call.id)[i]);
}
std::span<const int64_t> Ints(const DynamicCall& call, AttributeKey key) {
  return ModuleOf(call).GetInts(ModuleOf(call)[call.id], key);
}

// The instruction over the arrays of bounds, operands replaced where `others` says so.
InstructionId OverBounds(DynamicCall& call, const std::vector<InstructionId>& others = {}) {
  std::vector<InstructionId> operands = others;
  for (size_t i = operands.size(); i < call.operands.size(); ++i) {
    operands.push_back(call.operands[i].whole);
  }
  const Module& module = ModuleOf(call);
  return call.writer.Add(module.name(call.id), module[call.id].opcode, BoundShape(ShapeOf(call)),
                         operands, module.attributes(module[call.id]));
}

// What the evaluator cuts has zeros behind its sizes.
DynamicArray Cut(DynamicCall& call, InstructionId whole, Sizes sizes) {
  DynamicArray array{whole, std::move(sizes)};
  const Shape& shape = ShapeOf(call);
  if (array.is_dynamic()) {
    array.whole = call.writer.Masked(array, shape, call.writer.Zero(shape.element_type()));
  }
  return array;
}

// One size for two dimensions; false where they may differ at run time.
bool Agree(InstructionId& a, InstructionId& b) {
  if (a.valid() && b.valid() && a != b) return false;
  a = b = a.valid() ? a : b;
  return true;
}

// The sizes of operands of one rank: of all that have any the same.
std::optional<Sizes> CommonSizes(const DynamicCall& call, size_t rank, size_t count) {
  std::optional<Sizes> common;
  for (size_t i = 0; i < count; ++i) {
    const DynamicArray& operand = call.operands[i];
    if (operand.sizes.size() != rank || !operand.is_dynamic()) continue;
    if (common && *common != operand.sizes) return std::nullopt;
    common = operand.sizes;
  }
  return common ? common : Sizes(rank);
}

Made Elements(DynamicCall& call) {
  const auto sizes = CommonSizes(call, ShapeOf(call).rank(), call.operands.size());
  if (!sizes) return std::nullopt;
  return DynamicArray{OverBounds(call), *sizes};
}

Made Copy(DynamicCall& call) { return call.operands[0]; }

Made Broadcast(DynamicCall& call) {
  Sizes sizes(ShapeOf(call).rank());
  const auto dimensions = Ints(call, AttributeKey::kDimensions);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    sizes[static_cast<size_t>(dimensions[i])] = call.operands[0].sizes[i];
  }
  return DynamicArray{OverBounds(call), std::move(sizes)};
}

Made Transpose(DynamicCall& call) {
  Sizes sizes;
  for (const int64_t d : Ints(call, AttributeKey::kDimensions)) {
    sizes.push_back(call.operands[0].sizes[static_cast<size_t>(d)]);
  }
  return DynamicArray{OverBounds(call), std::move(sizes)};
}

// Where only dimensions of one element come or go.
Made Reshape(DynamicCall& call) {
  const Shape &from = OperandShape(call, 0), &to = ShapeOf(call);
  Sizes sizes(to.rank());
  size_t at = 0;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (from.dimension(d) == 1) {
      if (call.operands[0].sizes[d].valid()) return std::nullopt;
      continue;
    }
    while (at < to.rank() && to.dimension(at) == 1) ++at;
    if (at == to.rank() || to.dimension(at) != from.dimension(d)) return std::nullopt;
    sizes[at++] = call.operands[0].sizes[d];
  }
  return Cut(call, OverBounds(call), std::move(sizes));
}

// Dimensions that are taken whole keep their sizes, others have the one that is written.
Sizes SliceSizes(const DynamicCall& call) {
  const Shape &from = OperandShape(call, 0), &to = ShapeOf(call);
  const auto slices = Ints(call, AttributeKey::kSlice);
  Sizes sizes(to.rank());
  for (size_t d = 0; d < to.rank(); ++d) {
    const int64_t whole = from.dimension(d);
    const bool all =
        slices.size() == 3 * to.rank()
            ? slices[3 * d] == 0 && slices[3 * d + 1] == whole && slices[3 * d + 2] == 1
            : to.dimension(d) == whole;
    if (all) sizes[d] = call.operands[0].sizes[d];
  }
  return sizes;
}

Made Slice(DynamicCall& call) { return DynamicArray{OverBounds(call), SliceSizes(call)}; }

// Begins where the block still ends among the live elements.
Made DynamicSlice(DynamicCall& call) {
  DynamicWriter& writer = call.writer;
  const Shape scalar = Shape::Scalar(ElementType::kS32);
  std::vector<InstructionId> operands = {call.operands[0].whole};
  for (size_t d = 0; d < ShapeOf(call).rank(); ++d) {
    InstructionId start = call.operands[d + 1].whole;
    if (const InstructionId size = call.operands[0].sizes[d]; size.valid()) {
      if (OperandShape(call, d + 1).element_type() != ElementType::kS32) return std::nullopt;
      const InstructionId room = writer.Sum(size, writer.Number(-ShapeOf(call).dimension(d)));
      const InstructionId last =
          writer.Add("last", Opcode::kMaximum, scalar, {room, writer.Number(0)});
      start = writer.Add("start", Opcode::kMinimum, scalar, {start, last});
    }
    operands.push_back(start);
  }
  return DynamicArray{OverBounds(call, operands), SliceSizes(call)};
}

// Of an update with a size only the live elements would be written.
Made Update(DynamicCall& call) {
  if (call.operands[1].is_dynamic()) return std::nullopt;
  return DynamicArray{OverBounds(call), call.operands[0].sizes};
}

bool Contains(std::span<const int64_t> list, size_t value) {
  return std::ranges::find(list, static_cast<int64_t>(value)) != list.end();
}

Made Gather(DynamicCall& call) {
  const hlo::GatherDims dims = hlo::GatherDimsOf(ModuleOf(call), call.id);
  // Indices into them would end among the live elements.
  for (const int64_t d : dims.start_index_map) {
    if (call.operands[0].sizes[static_cast<size_t>(d)].valid()) return std::nullopt;
  }
  Sizes sizes(ShapeOf(call).rank());
  size_t window = 0, batch = 0;
  for (const size_t d : dims.WindowDims(dims.slice_sizes.size())) {
    const auto at = static_cast<size_t>(dims.offset_dims[window++]);
    if (dims.slice_sizes[d] == OperandShape(call, 0).dimension(d)) {
      sizes[at] = call.operands[0].sizes[d];
    }
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (Contains(dims.offset_dims, d)) continue;
    batch += static_cast<int64_t>(batch) == dims.index_vector_dim;
    sizes[d] = call.operands[1].sizes[batch++];
  }
  return DynamicArray{OverBounds(call), std::move(sizes)};
}

Made DimensionSize(DynamicCall& call) {
  const auto d = static_cast<size_t>(Ints(call, AttributeKey::kDimensions)[0]);
  if (ShapeOf(call).element_type() != ElementType::kS32) return std::nullopt;
  const InstructionId size = call.operands[0].sizes[d];
  return DynamicArray{size.valid() ? size : call.writer.Number(OperandShape(call, 0).dimension(d)),
                      {}};
}

// The number of a constant s32.
std::optional<int32_t> ConstantOf(const DynamicCall& call, size_t i) {
  const Module& module = ModuleOf(call);
  const InstructionId operand = module.operands(call.id)[i];
  const auto* literal = module.Get<hlo::Literal>(module[operand], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided()) return std::nullopt;
  return literal->data<int32_t>()[0];
}

Made SetSize(DynamicCall& call) {
  if (OperandShape(call, 1).element_type() != ElementType::kS32) return std::nullopt;
  const auto d = static_cast<size_t>(Ints(call, AttributeKey::kDimensions)[0]);
  const int64_t bound = ShapeOf(call).dimension(d);
  DynamicArray array = call.operands[0];
  const auto number = ConstantOf(call, 1);
  if (number && *number >= bound) {
    array.sizes[d] = InstructionId();
  } else {
    const Shape scalar = Shape::Scalar(ElementType::kS32);
    array.sizes[d] =
        call.writer.Add("size", Opcode::kClamp, scalar,
                        {call.writer.Number(0), call.operands[1].whole, call.writer.Number(bound)});
  }
  return array;
}

// Low and high edge and what is between; what is between comes with elements that are there.
Made Pad(DynamicCall& call) {
  const auto padding = Ints(call, AttributeKey::kPadding);
  DynamicWriter& writer = call.writer;
  const Shape scalar = Shape::Scalar(ElementType::kS32);
  Sizes sizes = call.operands[0].sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t low = padding[3 * d], high = padding[3 * d + 1], between = padding[3 * d + 2];
    if (!sizes[d].valid()) continue;
    if (low < 0 || high < 0 || ShapeOf(call).dimension(d) > std::numeric_limits<int32_t>::max()) {
      return std::nullopt;
    }
    InstructionId size = sizes[d];
    if (between > 0) {
      const InstructionId gaps =
          writer.Add("gaps", Opcode::kMaximum, scalar,
                     {writer.Sum(size, writer.Number(-1)), writer.Number(0)});
      size = writer.Sum(
          size, writer.Add("gaps", Opcode::kMultiply, scalar, {gaps, writer.Number(between)}));
    }
    sizes[d] = writer.Sum(size, writer.Number(low + high));
  }
  const InstructionId live =
      writer.Masked(call.operands[0], OperandShape(call, 0), call.operands[1].whole);
  return Cut(call, OverBounds(call, {live}), std::move(sizes));
}

// A scalar of the number in a type.
InstructionId Scalar(DynamicWriter& writer, double number, ElementType type) {
  const Shape wide = Shape::Scalar(ElementType::kF64);
  const InstructionId constant =
      writer.Add("unseen", Opcode::kConstant, wide, {},
                 {writer.builder().Make(AttributeKey::kConstantValue,
                                        hlo::Literal::Of<double>(wide, std::span(&number, 1)))});
  return type == ElementType::kF64
             ? constant
             : writer.Add("unseen", Opcode::kConvert, Shape::Scalar(type), {constant});
}

Made Reduce(DynamicCall& call) {
  const Shape& from = OperandShape(call, 0);
  const size_t count = call.operands.size() / 2;
  const auto reduced = Ints(call, AttributeKey::kDimensions);
  const auto sizes = CommonSizes(call, from.rank(), count);
  if (!sizes || !ShapeOf(call).IsArray()) return std::nullopt;
  Sizes kept;
  DynamicArray behind{call.operands[0].whole, Sizes(from.rank())};
  for (size_t d = 0; d < from.rank(); ++d) {
    if (Contains(reduced, d)) {
      behind.sizes[d] = (*sizes)[d];
    } else {
      kept.push_back((*sizes)[d]);
    }
  }
  if (behind.is_dynamic()) {
    const Module& module = ModuleOf(call);
    const auto unseen =
        UnseenBy(module, module.GetComputation(module[call.id], AttributeKey::kToApply),
                 from.element_type());
    if (!unseen) return std::nullopt;
    const InstructionId fill = Scalar(call.writer, *unseen, from.element_type());
    behind.whole = call.writer.Masked(behind, from, fill);
  }
  return Cut(call, OverBounds(call, {behind.whole}), std::move(kept));
}

// Products over what both sides have: zeros behind it on both.
Made Dot(DynamicCall& call) {
  Sizes left = call.operands[0].sizes, right = call.operands[1].sizes;
  DynamicArray live[2] = {{call.operands[0].whole, Sizes(left.size())},
                          {call.operands[1].whole, Sizes(right.size())}};
  const hlo::DotDims dims = hlo::DotDimsOf(ModuleOf(call), call.id);
  const auto agree = [&](std::span<const int64_t> a, std::span<const int64_t> b, bool is_summed) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const auto x = static_cast<size_t>(a[i]), y = static_cast<size_t>(b[i]);
      if (!Agree(left[x], right[y])) return false;
      if (is_summed) live[0].sizes[x] = live[1].sizes[y] = left[x];
    }
    return true;
  };
  if (call.operands.size() != 2 || !agree(dims.lhs.batch, dims.rhs.batch, false) ||
      !agree(dims.lhs.contracting, dims.rhs.contracting, true)) {
    return std::nullopt;
  }
  std::vector<InstructionId> operands;
  for (size_t i = 0; i < 2; ++i) {
    const ElementType type = OperandShape(call, i).element_type();
    if (type == ElementType::kF8E8M0FNU) return std::nullopt;  // has no zero
    operands.push_back(live[i].is_dynamic() ? call.writer.Masked(live[i], OperandShape(call, i),
                                                                 call.writer.Zero(type))
                                            : live[i].whole);
  }
  Sizes sizes;
  for (const int64_t d : dims.lhs.batch) sizes.push_back(left[static_cast<size_t>(d)]);
  for (const int64_t d : dims.lhs.Free(left.size())) sizes.push_back(left[static_cast<size_t>(d)]);
  for (const int64_t d : dims.rhs.Free(right.size())) {
    sizes.push_back(right[static_cast<size_t>(d)]);
  }
  return Cut(call, OverBounds(call, operands), std::move(sizes));
}

constexpr hlo::OpcodeTable<Made (*)(DynamicCall& call)> kDynamicRules = {
    {Opcode::kBroadcast, Broadcast},
    {Opcode::kCopy, Copy},
    {Opcode::kDot, Dot},
    {Opcode::kDynamicReshape, DynamicReshape},
    {Opcode::kDynamicSlice, DynamicSlice},
    {Opcode::kDynamicUpdateSlice, Update},
    {Opcode::kGather, Gather},
    {Opcode::kGetDimensionSize, DimensionSize},
    {Opcode::kPad, Pad},
    {Opcode::kReduce, Reduce},
    {Opcode::kReshape, Reshape},
    {Opcode::kSetDimensionSize, SetSize},
    {Opcode::kSlice, Slice},
    {Opcode::kTranspose, Transpose},
};

}  // namespace

std::optional<DynamicArray> Compute(DynamicCall& call) {
  const Opcode opcode = ModuleOf(call)[call.id].opcode;
  if (const auto compute = kDynamicRules[opcode]; compute != nullptr) return compute(call);
  const bool is_elements =
      HasFlag(opcode, hlo::kFlagElementwise) && opcode != Opcode::kBitcastConvert;
  return is_elements ? Elements(call) : std::nullopt;
}

}  // namespace hloscope::compile
