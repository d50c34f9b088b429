// StridedCopy: merges dimensions once, then runs typed loops in cache-sized tiles.
#include "core/eval/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace hloscope::eval {
namespace {

constexpr int64_t kTile = 32;

struct Plane {  // the two innermost dimensions
  int64_t rows, columns;
  int64_t in_row, in_column, out_row, out_column;
};

template <typename T>
void CopyRow(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t count) {
  if (in_stride == 1 && out_stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(T));
  } else if (in_stride == 0 && out_stride == 1) {
    std::fill_n(out, count, *in);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * out_stride] = in[i * in_stride];
  }
}

template <typename T>
void CopyPlane(const Plane& p, const T* in, T* out) {
  const bool transposes = p.in_column != 1 && p.in_row == 1;
  if (!transposes) {
    for (int64_t r = 0; r < p.rows; ++r) {
      CopyRow(in + r * p.in_row, p.in_column, out + r * p.out_row, p.out_column, p.columns);
    }
    return;
  }
  for (int64_t r = 0; r < p.rows; r += kTile) {
    const int64_t r_end = std::min(r + kTile, p.rows);
    for (int64_t c = 0; c < p.columns; c += kTile) {
      const int64_t count = std::min(kTile, p.columns - c);
      for (int64_t i = r; i < r_end; ++i) {
        CopyRow(in + i * p.in_row + c * p.in_column, p.in_column,
                out + i * p.out_row + c * p.out_column, p.out_column, count);
      }
    }
  }
}

}  // namespace

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dimensions) {
  std::vector<int64_t> strides(dimensions.size());
  int64_t stride = 1;
  for (size_t i = dimensions.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(dimensions[i], 1);
  }
  return strides;
}

StridedCopy::StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> in_strides,
                         std::span<const int64_t> out_strides, int element_bytes)
    : element_bytes_(element_bytes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    empty_ |= sizes[i] == 0;
    if (sizes[i] == 1) continue;
    const Dimension next{sizes[i], in_strides[i], out_strides[i]};
    if (!dimensions_.empty()) {
      Dimension& outer = dimensions_.back();
      if (outer.in_stride == next.in_stride * next.size &&
          outer.out_stride == next.out_stride * next.size) {
        outer = {outer.size * next.size, next.in_stride, next.out_stride};
        continue;
      }
    }
    dimensions_.push_back(next);
  }
  // A transposition reads along the dimension that is dense in `in`: bring that one beside the
  // last.
  if (dimensions_.size() < 3) return;
  for (size_t i = 0; i + 2 < dimensions_.size(); ++i) {
    if (dimensions_[i].in_stride != 1 || dimensions_.back().in_stride == 1) continue;
    std::rotate(dimensions_.begin() + static_cast<ptrdiff_t>(i),
                dimensions_.begin() + static_cast<ptrdiff_t>(i) + 1, dimensions_.end() - 1);
    break;
  }
}

void StridedCopy::Run(const std::byte* in, std::byte* out) const {
  if (empty_) return;
  switch (element_bytes_) {
    case 1:
      return RunTyped(in, out);
    case 2:
      return RunTyped(reinterpret_cast<const uint16_t*>(in), reinterpret_cast<uint16_t*>(out));
    case 4:
      return RunTyped(reinterpret_cast<const uint32_t*>(in), reinterpret_cast<uint32_t*>(out));
    case 8:
      return RunTyped(reinterpret_cast<const uint64_t*>(in), reinterpret_cast<uint64_t*>(out));
    default:
      return RunTyped(reinterpret_cast<const unsigned __int128*>(in),
                      reinterpret_cast<unsigned __int128*>(out));
  }
}

template <typename T>
void StridedCopy::RunTyped(const T* in, T* out) const {
  Plane plane{1, 1, 0, 0, 0, 0};
  const size_t n = dimensions_.size();
  if (n >= 1) {
    const Dimension& last = dimensions_[n - 1];
    plane.columns = last.size;
    plane.in_column = last.in_stride;
    plane.out_column = last.out_stride;
  }
  if (n >= 2) {
    const Dimension& row = dimensions_[n - 2];
    plane.rows = row.size;
    plane.in_row = row.in_stride;
    plane.out_row = row.out_stride;
  }
  if (n <= 2) return CopyPlane(plane, in, out);
  std::vector<int64_t> index(n - 2, 0);
  for (;;) {
    CopyPlane(plane, in, out);
    size_t d = n - 2;
    while (d-- > 0) {
      const Dimension& dimension = dimensions_[d];
      in += dimension.in_stride;
      out += dimension.out_stride;
      if (++index[d] < dimension.size) break;
      in -= dimension.in_stride * dimension.size;
      out -= dimension.out_stride * dimension.size;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace hloscope::eval
