// What a tcgen05.mma multiplies: its kind and the 32 bits of its instruction descriptor, which are
// known only when it runs. Source: PTX ISA, "Instruction descriptor" and "Block scaling".
#pragma once

#include <cstdint>
#include <optional>

#include "core/ptx/machine/state.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

struct TensorProduct {
  TileForm form;
  bool a_negative = false, b_negative = false;
  bool a_transposed = false, b_transposed = false;
  // Of block-scaled products the elements that share a factor (0: none), the format of the factors,
  // and which byte of a cell is the first of a row of A, or of a column of B.
  int block = 0;
  bool is_ue4m3 = false;
  uint32_t a_scale_byte = 0, b_scale_byte = 0;
};

// nullopt, and a reason in `refused`, for what is not executed on sm_`target`.
std::optional<TensorProduct> TensorProductOf(const Instruction& instruction, uint32_t descriptor,
                                             uint32_t target, const char*& refused);

// How many elements along k share a scale factor; 0 where the kind has no such factors.
int ScaleBlockOf(ScaledKind kind, ScaleVector vector, bool is_ue4m3);

// A product of its kind that is executed on every target that has the unit: what of an instruction
// is known before it runs.
TileForm UsualTensorForm(const Instruction& instruction, uint32_t target);

}  // namespace hloscope::ptx
