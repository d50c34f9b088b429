// Who owns which columns of tensor memory.
#include "core/ptx/machine/tensor_memory.h"

#include <algorithm>

namespace hloscope::ptx {

std::optional<uint32_t> TensorMemory::Allocate(uint32_t columns) {
  const uint32_t units = columns / kUnit;
  for (uint32_t first = 0; first + units <= owners_.size(); ++first) {
    const auto begin = owners_.begin() + first;
    if (std::any_of(begin, begin + units, [](uint32_t owner) { return owner != 0; })) continue;
    std::fill_n(begin, units, first + 1);
    return first * kUnit;
  }
  return std::nullopt;
}

bool TensorMemory::Free(uint32_t first, uint32_t columns) {
  if (first % kUnit != 0 || columns % kUnit != 0) return false;
  const uint32_t owner = first / kUnit + 1, units = columns / kUnit;
  if (static_cast<uint32_t>(std::ranges::count(owners_, owner)) != units || units == 0)
    return false;
  std::ranges::replace(owners_, owner, 0u);
  return true;
}

bool TensorMemory::Holds(uint32_t first, uint32_t columns) const {
  if (columns > kColumns || first > kColumns - columns) return false;
  for (uint32_t unit = first / kUnit; unit * kUnit < first + columns; ++unit) {
    if (owners_[unit] == 0) return false;
  }
  return true;
}

}  // namespace hloscope::ptx
