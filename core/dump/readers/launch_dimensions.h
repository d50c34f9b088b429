// Launch dimensions of a kernel, wherever they were found.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace hloscope::dump {

using Extent3 = std::array<int64_t, 3>;  // x, y, z

// What is unknown is absent: PTX and LLVM IR know threads (a bound), thunks know blocks too.
struct LaunchDimensions {
  std::optional<Extent3> blocks;   // of the grid
  std::optional<Extent3> threads;  // of a block
  std::optional<Extent3> cluster;  // blocks of a cluster
  bool known() const { return blocks.has_value() || threads.has_value(); }
  bool operator==(const LaunchDimensions&) const = default;
};

}  // namespace hloscope::dump
