// DotForm: a dot as products of matrices, one for each index of some loops around them.
#pragma once

#include <optional>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::compile {

// Strides are in elements; operands and result are dense and row-major.
struct DotForm {
  // A loop around the product: its length and what one turn moves in each array.
  struct Loop {
    int64_t size = 1, left = 0, right = 0, out = 0;
  };
  std::vector<Loop> loops;  // outermost first: batch dimensions, and free ones that do not merge
  // out[row, column] = Σ_depth left[row, depth]·right[depth, column]
  int64_t rows = 1, columns = 1, depth = 1;
  int64_t left_row = 1, left_depth = 1;
  int64_t right_depth = 1, right_column = 1;
  int64_t out_row = 1, out_column = 1;

  int64_t products() const;  // how many turns all loops make
};

// Rows for which a kernel of a CPU brings the columns of the right side next to each other once.
inline constexpr int64_t kDotUnitRows = 64;

// With fewer rows it reads the right side as it lies.
inline constexpr int64_t kDotFewRows = 3;
// Bytes along the depth that a processor with AVX512-VNNI adds up in 32 bits at once.
inline constexpr int64_t kByteGroup = 4;

// Whether the kernel of a CPU has a dot added up like that, where there is the instruction: one of
// s8 and u8 in 32 bits, whose left side has groups in memory, once the right side's columns are
// innermost.
bool TakesByteProducts(const hlo::Module& module, hlo::InstructionId dot);

// Whether a product is worth the tiles of a GPU.
bool FillsTiles(const DotForm& form);

// What products of a dot or convolution are summed up in: exact for integers (modulo their width),
// f32 where all are floats that it holds, pairs of f64 for complex numbers, f64 for the rest.
hlo::ElementType SumTypeOf(const hlo::Module& module, hlo::InstructionId contraction);

// True for sums of so many products of integers of up to 8 bits that f32 holds each of them, and
// whose type is s32.
bool IsExactInSingle(const hlo::Module& module, hlo::InstructionId contraction, int64_t depth);

// The form of a dot without sparsity; nullopt where its contracting dimensions do not merge to one
// because the operands have them in different orders, or where nothing is summed up.
std::optional<DotForm> DotFormOf(const hlo::Module& module, hlo::InstructionId dot);

}  // namespace hloscope::compile
