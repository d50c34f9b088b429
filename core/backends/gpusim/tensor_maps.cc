#include "core/backends/gpusim/tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>

namespace hloscope::replay {
namespace {

// Triton swizzles rows of 128, 64 or 32 bytes, where a tile has eight of them.
ptx::Swizzle SwizzleOf(const std::vector<int64_t>& tile, int64_t element_bytes) {
  const int64_t row = tile[0] * element_bytes;
  int64_t rows = 1;
  for (size_t i = 1; i < tile.size(); ++i) rows *= tile[i];
  if (tile.size() < 2 || rows < 8) return ptx::Swizzle::kNone;
  for (const auto swizzle : {ptx::Swizzle::k128, ptx::Swizzle::k64, ptx::Swizzle::k32}) {
    if (row % ptx::RowBytes(swizzle) == 0) return swizzle;
  }
  return ptx::Swizzle::kNone;
}

std::unexpected<Error> Refuse(const dump::TiledFunction& function, size_t argument,
                              std::string_view why) {
  return std::unexpected(Error{
      ErrorClass::kUnsupported,
      fmt::format("kernel {} takes a tensor map as parameter {}; {}", function.name, argument, why),
      {},
      "compile without tensor memory accelerators: --xla_gpu_enable_triton_tma=false"});
}

}  // namespace

Result<ptx::TensorMap> TensorMapOf(const dump::TiledFunction& function, size_t argument) {
  const dump::TileAccess* access = nullptr;
  for (const dump::TileAccess& other : function.accesses) {
    if (other.argument != argument) continue;
    if (access != nullptr && (access->sizes != other.sizes || access->strides != other.strides))
      return Refuse(function, argument, "its Triton IR takes tiles of several shapes of it");
    access = &other;
  }
  if (access == nullptr) return Refuse(function, argument, "its Triton IR takes no tile of it");
  const dump::TiledArray& array = function.arguments[argument];
  if (array.element_bytes == 0 || array.sizes.empty())
    return Refuse(function, argument, "its Triton IR gives it a type that is not known");

  ptx::TensorMap map;
  map.element_bytes = static_cast<uint32_t>(array.element_bytes);
  std::vector<int64_t> tile;
  auto stride = static_cast<uint64_t>(array.element_bytes);
  for (const int64_t dimension : array.minor_to_major) {
    const auto i = static_cast<size_t>(dimension);
    const int64_t size = array.sizes[i], taken = access->sizes[i];
    const int64_t step = std::max<int64_t>(access->strides[i], 1);
    if (size < 1 || size > 0xffffffff || taken < 1 || taken > 256 || step > 256 ||
        stride > uint64_t{1} << 40) {
      return Refuse(function, argument, "no tensor map has such sizes");
    }
    if (!map.sizes.empty()) map.strides.push_back(stride);
    stride *= static_cast<uint64_t>(size);
    map.sizes.push_back(static_cast<uint64_t>(size));
    map.steps.push_back(static_cast<uint32_t>(step));
    map.box.push_back(static_cast<uint32_t>(taken * step));
    tile.push_back(taken);
  }
  // A box is no wider than its swizzle: kernels copy wider tiles in parts.
  map.swizzle = SwizzleOf(tile, array.element_bytes);
  if (map.swizzle != ptx::Swizzle::kNone) {
    map.box[0] = std::min(map.box[0], ptx::RowBytes(map.swizzle) / map.element_bytes);
  }
  return map;
}

}  // namespace hloscope::replay
