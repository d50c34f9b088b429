// Coordinates of blocks and threads.
#pragma once

#include <array>
#include <cstdint>

namespace hloscope::ptx {

// The index of a block in its grid or of a thread in its block, x first, as coordinates.
inline std::array<uint32_t, 3> Unflattened(uint64_t index, const std::array<uint32_t, 3>& sizes) {
  return {static_cast<uint32_t>(index % sizes[0]),
          static_cast<uint32_t>(index / sizes[0] % sizes[1]),
          static_cast<uint32_t>(index / sizes[0] / sizes[1])};
}

}  // namespace hloscope::ptx
