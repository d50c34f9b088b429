// Nodes that work element by element, and sources.
#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>
#include <vector>

#include "core/debug/reduce/hunt/nodes.h"
#include "core/eval/coverage.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

namespace {

bool IsArrayNode(const DraftNode& node) { return node.shape.IsArray(); }

Shape Retyped(Shape shape, ElementType type) {
  shape.set_element_type(type);
  return shape;
}

}  // namespace

namespace {

// The opcodes that take `arity` arrays of one shape and nothing else, from the table of opcodes.
std::vector<Opcode> PlainElementwise(int arity) {
  std::vector<Opcode> opcodes;
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const hlo::OpcodeInfo& info = Info(opcode);
    const bool is_plain = std::ranges::none_of(info.attributes, &hlo::AttributeUse::required);
    if (info.arity != arity || !HasFlag(opcode, hlo::kFlagElementwise) || !is_plain) continue;
    // These have nodes of their own, or mean something else on other types.
    constexpr Opcode kOwn[] = {Opcode::kConvert, Opcode::kStochasticConvert, Opcode::kCompare};
    if (std::ranges::find(kOwn, opcode) == std::end(kOwn)) opcodes.push_back(opcode);
  }
  return opcodes;
}

// True if the interpreter evaluates it, as it was measured.
bool IsCovered(Opcode opcode, ElementType type) {
  static const auto covered = [] {
    std::set<std::pair<std::string_view, std::string_view>> all;
    for (const eval::CoverageRow& row : eval::CoverageRows()) {
      if (row.distance == "unsupported") continue;
      for (const auto word : std::views::split(row.types, ' ')) {
        all.emplace(row.opcode, std::string_view(word.begin(), word.end()));
      }
    }
    return all;
  }();
  return covered.contains({ToString(opcode), hlo::ToString(type)});
}

const std::vector<Opcode>& Elementwise(int arity) {
  static const std::vector<Opcode> unary = PlainElementwise(1), binary = PlainElementwise(2);
  return arity == 1 ? unary : binary;
}

}  // namespace

std::optional<DraftId> AddElementwise(ProgramMaker& maker, Draft& draft,
                                      std::vector<DraftId> operands) {
  const auto& opcodes = Elementwise(static_cast<int>(operands.size()));
  const Opcode opcode = opcodes[maker.Below(opcodes.size())];
  if (!IsCovered(opcode, draft.shape(operands[0]).element_type())) return std::nullopt;
  return draft.Add(opcode, std::move(operands));
}

bool AddConstantNode(ProgramMaker& maker, Draft& draft) {
  draft.AddConstant(
      maker.AnyLiteral(Shape::Array(maker.AnyType(), maker.AnyDimensions(maker.Below(3)))));
  return true;
}

bool AddIotaNode(ProgramMaker& maker, Draft& draft) {
  const size_t rank = 1 + maker.Below(3);
  const ElementType type = maker.AnyType();
  if (type == ElementType::kPred) return false;
  const Shape shape = Shape::Array(type, maker.AnyDimensions(rank));
  const auto dimension = static_cast<int64_t>(maker.Below(rank));
  return draft
      .Add(Opcode::kIota, {}, {maker.builder().MakeInt(AttributeKey::kIotaDimension, dimension)},
           &shape)
      .has_value();
}

bool AddUnaryNode(ProgramMaker& maker, Draft& draft) {
  const auto operand = maker.Pick(draft, IsArrayNode);
  return operand && AddElementwise(maker, draft, {*operand}).has_value();
}

bool AddBinaryNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  const DraftId b = maker.OneIn(10) ? *a : maker.PickOrMake(draft, Shape(draft.shape(*a)));
  const bool swapped = maker.OneIn(2);
  return AddElementwise(maker, draft, {swapped ? b : *a, swapped ? *a : b}).has_value();
}

bool AddCompareNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  const DraftId b = maker.PickOrMake(draft, Shape(draft.shape(*a)));
  // Complex numbers have no order.
  const bool is_complex = hlo::IsComplex(draft.shape(*a).element_type());
  const auto direction = static_cast<int32_t>(maker.Below(is_complex ? 2 : 6));
  return draft
      .Add(Opcode::kCompare, {*a, b},
           {maker.builder().MakeEnum(AttributeKey::kDirection, direction)})
      .has_value();
}

bool AddSelectNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  const Shape shape = draft.shape(*a);
  const DraftId b = maker.PickOrMake(draft, shape);
  const DraftId choice = maker.PickOrMake(draft, Retyped(shape, ElementType::kPred));
  return draft.Add(Opcode::kSelect, {choice, *a, b}).has_value();
}

// Bounds are taken apart in order, so that the lower is not above the upper.
bool AddClampNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  const Shape shape = draft.shape(*a);
  const Shape scalar = Shape::Scalar(shape.element_type());
  const bool is_scalar = maker.OneIn(2);
  const DraftId low = maker.Fill(draft, is_scalar ? scalar : shape, 0);
  const DraftId high = maker.Fill(draft, is_scalar ? scalar : shape, 1);
  return draft.Add(Opcode::kClamp, {low, *a, high}).has_value();
}

bool AddConvertNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  const Shape shape = Retyped(draft.shape(*a), maker.AnyType());
  return draft.Add(Opcode::kConvert, {*a}, {}, &shape).has_value();
}

// Of what has known bits only, to types of the same width, or of half or twice it.
bool AddBitcastConvertNode(ProgramMaker& maker, Draft& draft) {
  const auto a =
      maker.Pick(draft, [](const DraftNode& node) { return IsArrayNode(node) && node.bits; });
  if (!a) return false;
  constexpr ElementType kTypes[] = {ElementType::kU8,  ElementType::kS8,   ElementType::kU16,
                                    ElementType::kF16, ElementType::kBF16, ElementType::kS32,
                                    ElementType::kU32, ElementType::kF32,  ElementType::kU64,
                                    ElementType::kF64, ElementType::kU4};
  const Shape& from = draft.shape(*a);
  const ElementType type = maker.OneOf(kTypes);
  const int old_bits = hlo::BitWidth(from.element_type()), bits = hlo::BitWidth(type);
  std::vector<int64_t> dimensions(from.dimensions().begin(), from.dimensions().end());
  if (bits < old_bits) dimensions.push_back(old_bits / bits);
  if (bits > old_bits) {
    if (dimensions.empty() || dimensions.back() != bits / old_bits) return false;
    dimensions.pop_back();
  }
  const Shape shape = Shape::Array(type, dimensions);
  const auto id = draft.Add(Opcode::kBitcastConvert, {*a}, {}, &shape);
  // Bits of an integer may be a denormal, or a NaN that signals.
  if (id && hlo::IsFloat(type)) draft.SetRoundings(*id, MostRoundings(type));
  return id.has_value();
}

bool AddReducePrecisionNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a) return false;
  return draft
      .Add(Opcode::kReducePrecision, {*a},
           {maker.builder().MakeInt(AttributeKey::kExponentBits, maker.Between(1, 11)),
            maker.builder().MakeInt(AttributeKey::kMantissaBits, maker.Between(0, 30))})
      .has_value();
}

bool AddMapNode(ProgramMaker& maker, Draft& draft) {
  const auto a = maker.Pick(draft, IsArrayNode);
  if (!a || draft.nesting() > 1) return false;
  const Shape shape = draft.shape(*a);
  const Shape scalar = Shape::Scalar(shape.element_type());
  const DraftId b = maker.PickOrMake(draft, shape, draft[*a].roundings);
  Draft body = maker.Inner(draft);
  const int behind = std::max(draft[*a].roundings, draft[b].roundings);
  const DraftId x = body.AddParameter(scalar, behind), y = body.AddParameter(scalar, behind);
  DraftId root = AddElementwise(maker, body, {x, y}).value_or(x);
  root = AddElementwise(maker, body, {root}).value_or(root);
  const int roundings = body[root].roundings;
  const hlo::ComputationId id = body.Emit(maker.FreshName("map"), root);
  std::vector<int64_t> dimensions(shape.rank());
  for (size_t i = 0; i < dimensions.size(); ++i) dimensions[i] = static_cast<int64_t>(i);
  const auto map = draft.Add(Opcode::kMap, {*a, b},
                             {maker.builder().MakeInts(AttributeKey::kDimensions, dimensions),
                              maker.builder().MakeComputation(AttributeKey::kToApply, id)});
  if (map) draft.SetRoundings(*map, std::max(roundings, draft[*map].roundings));
  return map.has_value();
}

}  // namespace hloscope::debug
