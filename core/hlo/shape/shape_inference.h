// Shape inference: the result shape XLA gives an instruction (service/shape_inference.cc), one rule
// per ShapeRule.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// The parameters and the result of a computation.
struct ProgramShape {
  std::vector<ShapeId> parameters;
  ShapeId result;
};

// Program shapes asked for before, so that checking many calls of one large computation stays
// linear. Only for computations that are complete.
class ProgramShapes {
 public:
  // An input error if parameters or root are missing, an unsupported one if it is not defined yet.
  Result<const ProgramShape*> Find(const Module& module, ComputationId id);

 private:
  std::unordered_map<uint32_t, ProgramShape> known_;
};

// What a rule looks at: the opcode, operand shapes, attributes of `module`, and the declared shape
// where the rule takes part of it from there. Works while a module is being built.
struct InferenceInput {
  const Module& module;
  Opcode opcode;
  std::span<const Shape* const> operands;
  std::span<const Attribute> attributes;
  const Shape* declared = nullptr;    // null where the text leaves the shape out
  ProgramShapes* programs = nullptr;  // optional memory over many calls
  // Keep the layouts that XLA's inference hands on from an operand (a text that leaves the shape
  // out gets them); otherwise the answer has none.
  bool keep_layouts = false;
};

// The inferred result shape; an input error says which rule is broken and by what. No attribute
// value makes this crash, overflow or allocate.
// Opcodes whose shape is given and not inferred answer with the declared one.
Result<Shape> InferShape(const InferenceInput& input);

// True if a text may leave the shape of this opcode out (XLA: HloParserImpl::CanInferShape).
bool CanInferShape(Opcode opcode);
// True if XLA makes the shape of this opcode from its operands even where a text says another one.
bool ShapeFollowsOperands(Opcode opcode);

}  // namespace hloscope::hlo
