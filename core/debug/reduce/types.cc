// Reductions of element types to the usual ones of half the width.
#include <array>

#include "core/debug/reduce/reductions.h"
#include "core/debug/reduce/resize.h"
#include "core/eval/numbers/precise.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Shape;

struct Narrowing {
  ElementType from, to;
};
constexpr std::array kNarrowings = {
    Narrowing{ElementType::kF64, ElementType::kF32},
    Narrowing{ElementType::kC128, ElementType::kC64},
    Narrowing{ElementType::kS64, ElementType::kS32},
    Narrowing{ElementType::kU64, ElementType::kU32},
};

// Shapes nest no deeper than the limit they were read with.
Shape WithType(Shape shape, const Narrowing& change) {
  if (shape.element_type() == change.from) shape.set_element_type(change.to);
  for (Shape& element : shape.mutable_elements()) element = WithType(std::move(element), change);
  return shape;
}

}  // namespace

std::optional<Candidate> Retyped(const Candidate& from, ElementType from_type,
                                 ElementType to_type) {
  const Narrowing change{from_type, to_type};
  hlo::ModuleBuilder builder = hlo::CopyModule(*from.module);
  builder.header().entry_layout.reset();
  bool changed = false;
  for (uint32_t i = 0; i < from.module->instructions().size(); ++i) {
    const InstructionId id(i);
    const Shape& old = from.module->shape(id);
    const Shape shape = WithType(old, change);
    if (shape == old) continue;
    changed = true;
    builder.instruction(id).shape = builder.InternShape(shape);
    const auto* value = from.module->Get<Literal>((*from.module)[id], AttributeKey::kConstantValue);
    if (value == nullptr) continue;
    if (value->elided()) return std::nullopt;
    builder.SetAttribute(
        id, builder.Make(AttributeKey::kConstantValue, eval::ConvertLiteral(*value, shape)));
  }
  if (!changed) return std::nullopt;
  Candidate candidate{builder.Build(), from.arguments};
  for (Literal& argument : candidate.arguments) {
    const Shape shape = WithType(argument.shape(), change);
    if (!IsUnknown(argument) && !(shape == argument.shape())) {
      argument = eval::ConvertLiteral(argument, shape);
    }
  }
  return candidate;
}

void NarrowTypes(Search& search) {
  bool narrowed = true;
  while (narrowed && !search.stopped()) {
    const Candidate from = search.best();
    narrowed =
        search
            .First(kNarrowings.size(),
                   [&](size_t i) { return Retyped(from, kNarrowings[i].from, kNarrowings[i].to); })
            .has_value();
  }
}

}  // namespace hloscope::debug
