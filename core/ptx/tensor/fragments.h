// Fragments of mma.sync to dense matrices and back, as "Matrix Fragments for mma" in the PTX ISA
// has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// The most bytes of an operand: 16 rows of 32.
inline constexpr int kOperandBytes = 512;

// A[m][k] of packed elements from its fragment.
void GatherRows(const uint32_t (*registers)[32], int rows, int row_bytes, std::byte* out);
// C[m][8] of packed elements of 16, 32 or 64 bits from its fragment, and the fragment of D.
void GatherSums(const uint32_t (*registers)[32], int rows, int bytes, std::byte* out);
void ScatterSums(const std::byte* sums, int rows, int bytes, uint32_t (*registers)[32]);

}  // namespace hloscope::ptx
