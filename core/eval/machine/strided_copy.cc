// StridedCopy: merges dimensions once, then runs typed loops in cache-sized tiles.
#include "core/eval/machine/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace hloscope::eval {
namespace {

constexpr int64_t kTile = 32;
constexpr int64_t kGrain = 1 << 16;  // elements
constexpr int64_t kFewRanges = 16;

struct Plane {  // the two innermost dimensions
  int64_t rows, columns;
  int64_t in_row, in_column, out_row, out_column;
};

template <typename T>
void CopyRow(const T *in, int64_t in_stride, T *out, int64_t out_stride, int64_t count) {
  if (in_stride == 1 && out_stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(count) * sizeof(T));
  } else if (in_stride == 0 && out_stride == 1) {
    std::fill_n(out, count, *in);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i * out_stride] = in[i * in_stride];
  }
}

// Reads along rows into a tile and writes that along columns: each line of either side is touched
// once, whatever its neighbours' addresses are.
template <typename T>
void TransposePlane(const Plane &p, const T *in, T *out) {
  T tile[kTile][kTile];
  for (int64_t r = 0; r < p.rows; r += kTile) {
    const int64_t rows = std::min(kTile, p.rows - r);
    for (int64_t c = 0; c < p.columns; c += kTile) {
      const int64_t columns = std::min(kTile, p.columns - c);
      for (int64_t j = 0; j < columns; ++j) {
        std::memcpy(tile[j], in + r + (c + j) * p.in_column, static_cast<size_t>(rows) * sizeof(T));
      }
      for (int64_t i = 0; i < rows; ++i) {
        T *to = out + (r + i) * p.out_row + c * p.out_column;
        for (int64_t j = 0; j < columns; ++j) to[j * p.out_column] = tile[j][i];
      }
    }
  }
}

template <typename T>
void CopyPlane(const Plane &p, const T *in, T *out) {
  if (p.in_column != 1 && p.in_row == 1) return TransposePlane(p, in, out);
  for (int64_t r = 0; r < p.rows; ++r) {
    CopyRow(in + r * p.in_row, p.in_column, out + r * p.out_row, p.out_column, p.columns);
  }
}

template <typename T, typename Dimensions>
void CopyAll(const Dimensions &dimensions, const T *in, T *out) {
  Plane plane{1, 1, 0, 0, 0, 0};
  const size_t n = dimensions.size();
  if (n >= 1) {
    plane.columns = dimensions[n - 1].size;
    plane.in_column = dimensions[n - 1].in_stride;
    plane.out_column = dimensions[n - 1].out_stride;
  }
  if (n >= 2) {
    plane.rows = dimensions[n - 2].size;
    plane.in_row = dimensions[n - 2].in_stride;
    plane.out_row = dimensions[n - 2].out_stride;
  }
  if (n <= 2) return CopyPlane(plane, in, out);
  std::vector<int64_t> index(n - 2, 0);
  for (;;) {
    CopyPlane(plane, in, out);
    size_t d = n - 2;
    while (d-- > 0) {
      const auto &dimension = dimensions[d];
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

}  // namespace

StridedCopy::StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> in_strides,
                         std::span<const int64_t> out_strides, int element_bytes)
    : element_bytes_(element_bytes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    empty_ |= sizes[i] == 0;
    if (sizes[i] == 1) continue;
    const Dimension next{sizes[i], in_strides[i], out_strides[i]};
    if (!dimensions_.empty()) {
      Dimension &outer = dimensions_.back();
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

bool StridedCopy::IsDense() const {
  return dimensions_.empty() || (dimensions_.size() == 1 && dimensions_[0].in_stride == 1 &&
                                 dimensions_[0].out_stride == 1);
}

void StridedCopy::Run(const std::byte *in, std::byte *out) const { Run(dimensions_, in, out); }

Status StridedCopy::Run(Machine &machine, const std::byte *in, std::byte *out) const {
  if (empty_) return {};
  int64_t count = 1;
  for (const Dimension &dimension : dimensions_) count *= dimension.size;
  if (count <= kGrain) {
    Run(in, out);
    return {};
  }
  // Ranges of the outermost dimension, or of the two outermost where that one is short.
  const size_t split = dimensions_.size() > 1 && dimensions_[0].size < kFewRanges ? 2 : 1;
  const int64_t inner = split == 2 ? dimensions_[1].size : 1;
  const int64_t all = dimensions_[0].size * inner;
  const int64_t grain = std::max<int64_t>(1, kGrain / (count / all));
  return machine.ForRanges(all, grain, [&](IndexRange range) -> Status {
    std::vector<Dimension> part(dimensions_.begin() + static_cast<ptrdiff_t>(split) - 1,
                                dimensions_.end());
    for (int64_t begin = range.begin; begin < range.end;) {
      const int64_t outer = split == 2 ? begin / inner : 0;
      const int64_t first = begin - outer * inner;
      part[0].size = std::min(range.end - begin, (split == 2 ? inner : all) - first);
      const int64_t in_at =
          outer * (split == 2 ? dimensions_[0].in_stride : 0) + first * part[0].in_stride;
      const int64_t out_at =
          outer * (split == 2 ? dimensions_[0].out_stride : 0) + first * part[0].out_stride;
      Run(part, in + in_at * element_bytes_, out + out_at * element_bytes_);
      begin += part[0].size;
    }
    return {};
  });
}

void StridedCopy::Run(std::span<const Dimension> dimensions, const std::byte *in,
                      std::byte *out) const {
  if (empty_) return;
  WithBytes(element_bytes_, [&]<typename T>(T) {
    CopyAll(dimensions, reinterpret_cast<const T *>(in), reinterpret_cast<T *>(out));
  });
}

}  // namespace hloscope::eval
