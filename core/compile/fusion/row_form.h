// RowForm: kernels that go through arrays row by row: reduces of a row, and elements of the row
// that depend on what it was reduced to.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// What an instruction of such a kernel is for one row.
enum class RowRole : uint8_t {
  kFree,   // depends on no reduce of the kernel; elements of it at any index
  kOfRow,  // one element for each row
  kInRow,  // the elements of the row, each at its own place
};

struct RowForm {
  int64_t rows = 1, row_size = 1;
  size_t leading = 0;               // dimensions of arrays before those of a row
  hlo::InstructionId first_reduce;  // its operand has the dimensions of all arrays
  // By instruction: its role, and the stage in which it can be had. A stage is a run through the
  // row; what the row was reduced to in one is there in the next.
  std::vector<RowRole> roles;
  std::vector<int> stages;
};

// The form of instructions that are computed together, operands before users; nullopt where they
// have another, or are reduces side by side. `roots`: what is written.
std::optional<RowForm> RowFormOf(const hlo::Module& module,
                                 std::span<const hlo::InstructionId> instructions,
                                 std::span<const hlo::InstructionId> roots);

}  // namespace hloscope::compile
