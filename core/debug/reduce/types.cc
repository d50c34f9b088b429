// Reductions of element types to the usual ones of half the width.
#include <array>

#include "core/debug/reduce/reductions.h"
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
Shape Narrowed(Shape shape, const Narrowing& narrowing) {
  if (shape.element_type() == narrowing.from) shape.set_element_type(narrowing.to);
  for (Shape& element : shape.mutable_elements()) element = Narrowed(std::move(element), narrowing);
  return shape;
}

std::optional<Candidate> Narrow(const Candidate& from, const Narrowing& narrowing) {
  hlo::ModuleBuilder builder = hlo::CopyModule(*from.module);
  builder.header().entry_layout.reset();
  bool changed = false;
  for (uint32_t i = 0; i < from.module->instructions().size(); ++i) {
    const InstructionId id(i);
    const Shape& old = from.module->shape(id);
    const Shape shape = Narrowed(old, narrowing);
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
    const Shape shape = Narrowed(argument.shape(), narrowing);
    if (!IsUnknown(argument) && !(shape == argument.shape())) {
      argument = eval::ConvertLiteral(argument, shape);
    }
  }
  return candidate;
}

}  // namespace

void NarrowTypes(Search& search) {
  bool narrowed = true;
  while (narrowed && !search.stopped()) {
    const Candidate from = search.best();
    narrowed =
        search.First(kNarrowings.size(), [&](size_t i) { return Narrow(from, kNarrowings[i]); })
            .has_value();
  }
}

}  // namespace hloscope::debug
