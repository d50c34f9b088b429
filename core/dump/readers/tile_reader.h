// Which parts of its arrays a fusion's kernel takes at a time, out of the Triton IR of the fusion
// (FUSION.ttir.txt): what XLA makes tensor maps of, which no file of a dump holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::dump {

struct TiledArray {
  std::vector<int64_t> sizes;
  std::vector<int64_t> minor_to_major;
  int32_t element_bytes = 0;  // 0: a type that is not known
};

// One `xtile.extract` or `xtile.insert`.
struct TileAccess {
  size_t argument = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // elements of the array from one of the tile to the next
};

struct TiledFunction {
  std::string name;                   // of the kernel
  std::vector<TiledArray> arguments;  // its arrays, in the order of the kernel's parameters
  std::vector<TileAccess> accesses;
};

// The `xtile.entry_func` of `text`. Input error, with file and line: there is none, or it is
// malformed.
Result<TiledFunction> ReadTiles(std::string_view text, const std::string& file);

}  // namespace hloscope::dump
