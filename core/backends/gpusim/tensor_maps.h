// The tensor maps that XLA:GPU's runtime gives to kernels in place of pointers. A dump does not
// hold them; they follow from the tiles in its Triton IR.
#pragma once

#include "core/base/result.h"
#include "core/dump/readers/tile_reader.h"
#include "core/ptx/ptx.h"

namespace hloscope::replay {

// The map of an argument as XLA makes it: sizes, box and steps by the layout of the array; the
// swizzle as Triton chooses it for the shared memory of a tile, by how many bytes of the contiguous
// dimension it has. Error: unsupported, where `function` takes no tile of the argument, or several
// that differ.
Result<ptx::TensorMap> TensorMapOf(const dump::TiledFunction& function, size_t argument);

}  // namespace hloscope::replay
