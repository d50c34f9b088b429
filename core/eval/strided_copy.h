// StridedCopy: copies an n-dimensional block of elements between two arrays whose strides differ.
// All data movement is this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hloscope::eval {

// Elements between neighbours of each dimension of a dense row-major array.
std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dimensions);

class StridedCopy {
 public:
  // For every index i below `sizes`: out[Σ i·out_strides] = in[Σ i·in_strides]. Strides count
  // elements of `element_bytes` (1, 2, 4, 8 or 16) and may be 0 or negative for `in`.
  StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> in_strides,
              std::span<const int64_t> out_strides, int element_bytes);

  // `in` and `out` point at the element of index 0.
  void Run(const std::byte* in, std::byte* out) const;

 private:
  struct Dimension {
    int64_t size, in_stride, out_stride;
  };
  template <typename T>
  void RunTyped(const T* in, T* out) const;

  std::vector<Dimension> dimensions_;  // outer ones first; neighbours that can be are merged
  int element_bytes_;
  bool empty_ = false;
};

}  // namespace hloscope::eval
