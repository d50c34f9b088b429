// wgmma and tcgen05.mma with the product of their dense tiles given: the usual MultiplyTile, or
// other arithmetic in its place.
#pragma once

#include "core/ptx/machine/state.h"
#include "core/ptx/tensor/tensor.h"

namespace hloscope::ptx {

// As MultiplyTile.
using TileProduct = void (*)(const TileForm& form, const std::byte* a, const std::byte* b,
                             const std::byte* c, std::byte* d);

// One wgmma.mma_async of the warp group whose first warp is `first`.
void MultiplyWarpGroup(Warp& first, const Instruction& instruction, const Slot* slots,
                       TileProduct product);
// One tcgen05.mma of each lane of `mask`.
void MultiplyTensorMemory(Warp& warp, const Instruction& instruction, const Slot* slots,
                          uint32_t mask, TileProduct product);

}  // namespace hloscope::ptx
