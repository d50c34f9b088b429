// IsPermutation: whether a list names every dimension once.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hloscope::hlo {

inline bool IsPermutation(std::span<const int64_t> order, size_t rank) {
  if (order.size() != rank) return false;
  uint64_t few = 0;  // no allocation for what shapes have
  std::vector<bool> many(rank > 64 ? rank : 0, false);
  for (const int64_t d : order) {
    if (d < 0 || std::cmp_greater_equal(d, rank)) return false;
    const bool seen = rank > 64 ? many[static_cast<size_t>(d)] : (few >> d & 1) != 0;
    if (seen) return false;
    if (rank > 64) {
      many[static_cast<size_t>(d)] = true;
    } else {
      few |= uint64_t{1} << d;
    }
  }
  return true;
}

}  // namespace hloscope::hlo
