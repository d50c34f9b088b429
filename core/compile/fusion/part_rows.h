// PartRowsOf: how a part of a concatenation lies in the array that it is taken from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// A row of a part has the elements of all dimensions from the concatenated one on. Row r begins
// `from` + r·`stride` elements behind the beginning of the dense `array`, and is contiguous there.
struct PartRows {
  hlo::InstructionId array;
  int64_t rows = 1, length = 1, stride = 1, from = 0;
  std::vector<hlo::InstructionId> through = {};  // reshapes and a slice, from the part on
};

// Of the operand of that number. The array is the part itself, or what a slice and reshapes take it
// from; nullopt where the rows of these do not lie like that.
std::optional<PartRows> PartRowsOf(const hlo::Module& module, hlo::InstructionId concatenate,
                                   size_t part);
// The same where the array is the part.
PartRows WholePart(const hlo::Module& module, hlo::InstructionId concatenate, size_t part);

}  // namespace hloscope::compile
