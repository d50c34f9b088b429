// Shape inference: the result shape XLA gives an instruction (service/shape_inference.cc), one rule
// per ShapeRule.
#pragma once

#include <span>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// What a rule looks at: the opcode, operand shapes, attributes of `module`, and the declared shape
// where the rule takes part of it from there. Works while a module is being built.
struct InferenceInput {
  const Module& module;
  Opcode opcode;
  std::span<const Shape* const> operands;
  std::span<const Attribute> attributes;
  const Shape* declared = nullptr;  // null where the text leaves the shape out
};

// The inferred result shape, without layouts; an input error says which rule is broken and by what.
// Opcodes whose shape is given and not inferred answer with the declared one.
Result<Shape> InferShape(const InferenceInput& input);

// True if a text may leave the shape of this opcode out (XLA: HloParserImpl::CanInferShape).
bool CanInferShape(Opcode opcode);

}  // namespace hloscope::hlo
