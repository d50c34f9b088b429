// The rules of algebraic simplification, and what they share.
#pragma once

#include <optional>
#include <vector>

#include "core/compile/passes/edit.h"

namespace hloscope::compile {

// Looks at an instruction of static shape and answers with one that has its value: another, or a
// new one; invalid where the rule does not fit.
using SimplifyRule = hlo::InstructionId (*)(Edit& edit, hlo::InstructionId id);

#define RULE(opcode, function) hlo::InstructionId function(Edit& edit, hlo::InstructionId id);
#include "core/compile/passes/simplify/rules.def"
#undef RULE
// For every elementwise opcode: of broadcasts of the same kind, it is computed before them.
hlo::InstructionId ElementwiseOfBroadcasts(Edit& edit, hlo::InstructionId id);
// Likewise of reshapes that only put in or take out dimensions of one element.
hlo::InstructionId ElementwiseOfReshapes(Edit& edit, hlo::InstructionId id);

// ---- Shared (shared.cc)

inline const hlo::InstructionId kNoReplacement = {};

// The one number that all elements of a value are, where it is a scalar constant or a broadcast of
// one; of integers beyond the signed range the bits.
struct Number {
  hlo::ElementType type = hlo::ElementType::kInvalid;
  double real = 0;      // floats
  int64_t integer = 0;  // integers and pred
};
std::optional<Number> NumberOf(Edit& edit, hlo::InstructionId id);
// The integers of a constant of s32, of a reshape of one or of a broadcast; nullopt where they are
// not known.
std::optional<std::vector<int64_t>> IntegersOf(Edit& edit, hlo::InstructionId id);
// True if all elements are that number; of zeros the sign counts.
bool IsAll(Edit& edit, hlo::InstructionId id, double value);

// A constant in every element of `shape`, which `value` is exact in.
hlo::InstructionId Filled(Edit& edit, hlo::InstructionId like, const hlo::Shape& shape,
                          double value);
// Elements whose bytes are all zero, whatever number that is.
hlo::InstructionId ZeroBytes(Edit& edit, hlo::InstructionId like, const hlo::Shape& shape);

// An instruction of that attribute in place of `like`'s list, beside it.
hlo::InstructionId WithInts(Edit& edit, hlo::InstructionId like, hlo::Opcode opcode,
                            const hlo::Shape& shape, hlo::InstructionId operand,
                            hlo::AttributeKey key, std::span<const int64_t> values);
// Of the same dimensions and element type.
bool SameArray(const hlo::Shape& a, const hlo::Shape& b);

}  // namespace hloscope::compile
