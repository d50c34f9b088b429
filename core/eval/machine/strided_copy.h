// StridedCopy: copies an n-dimensional block of elements between two arrays whose strides differ.
// All data movement is this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/eval/machine/machine.h"
#include "core/hlo/row_major.h"

namespace hloscope::eval {

using hlo::RowMajorStrides;

// Calls f(T()) with the unsigned type of that many bytes: 1, 2, 4, 8 or 16.
template <typename F>
decltype(auto) WithBytes(int bytes, F &&f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(static_cast<unsigned __int128>(0));
  }
}

class StridedCopy {
 public:
  // For every index i below `sizes`: out[Σ i·out_strides] = in[Σ i·in_strides]. Strides count
  // elements of `element_bytes` (1, 2, 4, 8 or 16) and may be 0 or negative for `in`.
  StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> in_strides,
              std::span<const int64_t> out_strides, int element_bytes);

  // `in` and `out` point at the element of index 0.
  void Run(const std::byte *in, std::byte *out) const;
  // The same on all threads of the machine.
  Status Run(Machine &machine, const std::byte *in, std::byte *out) const;
  // True if both sides are one dense row.
  bool IsDense() const;

 private:
  struct Dimension {
    int64_t size, in_stride, out_stride;
  };
  void Run(std::span<const Dimension> dimensions, const std::byte *in, std::byte *out) const;

  std::vector<Dimension> dimensions_;  // outer ones first; neighbours that can be are merged
  int element_bytes_;
  bool empty_ = false;
};

}  // namespace hloscope::eval
