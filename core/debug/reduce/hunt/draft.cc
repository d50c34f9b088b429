// Shapes and roundings of the instructions of a draft; writing it.
#include "core/debug/reduce/hunt/draft.h"

#include <fmt/format.h>

#include <algorithm>

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Opcode;
using hlo::Shape;

constexpr int64_t kMaxElements = 2048;

enum class Step : uint8_t { kMoves, kSmooth, kTakesExact };

Step StepOf(Opcode opcode) {
  switch (opcode) {
#define ROUNDS(name, how) \
  case Opcode::name:      \
    return Step::how;
#include "core/debug/reduce/hunt/steps.def"
#undef ROUNDS
    default:
      return Step::kTakesExact;
  }
}

bool IsRounded(ElementType type) { return hlo::IsFloat(type) || hlo::IsComplex(type); }

bool HasFloats(const Shape& shape) {
  return std::ranges::any_of(
      shape.LeafShapes(), [](const hlo::Shape* leaf) { return IsRounded(leaf->element_type()); });
}

bool IsSmall(const Shape& shape) {
  return std::ranges::all_of(shape.LeafShapes(), [](const hlo::Shape* leaf) {
    const auto count = leaf->ElementCount();
    return leaf->IsToken() || (count && *count <= kMaxElements);
  });
}

int MostRoundingsOf(const Shape& shape) {
  int most = 100;
  for (const hlo::Shape* leaf : shape.LeafShapes()) {
    if (IsRounded(leaf->element_type())) most = std::min(most, MostRoundings(leaf->element_type()));
  }
  return most;
}

}  // namespace

int MostRoundings(ElementType type) {
  const int bits = hlo::BitWidth(hlo::RealPart(type));
  return bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}

DraftId Draft::AddParameter(Shape shape, int roundings) {
  const auto number = static_cast<int64_t>(parameters_++);
  nodes_.push_back({Opcode::kParameter,
                    std::move(shape),
                    {},
                    {builder_.MakeInt(AttributeKey::kParameterNumber, number)},
                    roundings,
                    true});
  return static_cast<DraftId>(nodes_.size() - 1);
}

DraftId Draft::AddConstant(hlo::Literal literal) {
  Shape shape = literal.shape();
  nodes_.push_back({Opcode::kConstant,
                    std::move(shape),
                    {},
                    {builder_.Make(AttributeKey::kConstantValue, std::move(literal))},
                    0,
                    true});
  return static_cast<DraftId>(nodes_.size() - 1);
}

std::optional<DraftId> Draft::Add(Opcode opcode, std::vector<DraftId> operands,
                                  std::vector<hlo::Attribute> attributes, const Shape* declared) {
  std::vector<const Shape*> shapes;
  for (const DraftId operand : operands) shapes.push_back(&nodes_[operand].shape);
  std::ranges::sort(attributes, {}, &hlo::Attribute::key);
  const hlo::InferenceInput input{.module = builder_.module(),
                                  .opcode = opcode,
                                  .operands = shapes,
                                  .attributes = attributes,
                                  .declared = declared,
                                  .programs = &programs_};
  Result<Shape> shape = hlo::InferShape(input);
  if (!shape.has_value() || !IsSmall(*shape)) return std::nullopt;
  const std::optional<int> roundings = RoundingsOf(opcode, operands, *shape);
  if (!roundings) return std::nullopt;
  const bool bits = HasBits(opcode, operands, *shape);
  nodes_.push_back(
      {opcode, *std::move(shape), std::move(operands), std::move(attributes), *roundings, bits});
  return static_cast<DraftId>(nodes_.size() - 1);
}

std::optional<int> Draft::RoundingsOf(Opcode opcode, std::span<const DraftId> operands,
                                      const Shape& shape) const {
  int behind = 0;
  for (const DraftId operand : operands) {
    if (HasFloats(nodes_[operand].shape)) behind = std::max(behind, nodes_[operand].roundings);
  }
  const Step step = StepOf(opcode);
  const bool widens = opcode == Opcode::kConvert && HasFloats(shape);
  if (step == Step::kTakesExact && behind > 0 && !widens) return std::nullopt;
  if (step == Step::kMoves) return HasFloats(shape) ? behind : 0;
  if (!HasFloats(shape)) return behind == 0 ? std::optional(0) : std::nullopt;
  return behind + 1 <= MostRoundingsOf(shape) ? std::optional(behind + 1) : std::nullopt;
}

// Arithmetic of floats gives NaNs of any payload; data that only moves keeps theirs.
bool Draft::HasBits(Opcode opcode, std::span<const DraftId> operands, const Shape& shape) const {
  const bool all = std::ranges::all_of(operands, [&](DraftId o) { return nodes_[o].bits; });
  if (!HasFloats(shape)) return true;
  constexpr Opcode kArithmetic[] = {Opcode::kAbs, Opcode::kNegate, Opcode::kMaximum,
                                    Opcode::kMinimum, Opcode::kMap};
  return all && StepOf(opcode) == Step::kMoves && std::ranges::count(kArithmetic, opcode) == 0;
}

hlo::ComputationId Draft::Emit(std::string_view name, DraftId root) {
  const hlo::ComputationId id = builder_.DeclareComputation(builder_.Intern(name));
  builder_.BeginComputation(id);
  std::vector<hlo::InstructionId> ids;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const DraftNode& node = nodes_[i];
    std::vector<hlo::InstructionId> operands;
    for (const DraftId operand : node.operands) operands.push_back(ids[operand]);
    const std::string text = fmt::format("{}_{}.{}", name, hlo::ToString(node.opcode), i);
    ids.push_back(builder_.AddInstruction(builder_.Intern(text), node.opcode,
                                          builder_.InternShape(node.shape.WithDefaultLayouts()),
                                          operands, node.attributes));
  }
  builder_.EndComputation(ids[root]);
  return id;
}

}  // namespace hloscope::debug
