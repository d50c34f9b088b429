// WindowTaps: one table of offsets per dimension and place.
#include "core/eval/loops/window_taps.h"

#include <algorithm>

#include "core/eval/machine/strided_copy.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

bool IsTrivial(const hlo::WindowDimension& w) { return w == hlo::WindowDimension{}; }

}  // namespace

WindowTaps::WindowTaps(const hlo::Window* window, std::span<const int64_t> base) {
  const auto windows = hlo::WindowDimensions(window, base.size());
  const auto strides = RowMajorStrides(base);
  for (size_t d = 0; d < base.size(); ++d) dimensions_.push_back({windows[d], base[d], strides[d]});
  while (trivial_tail_ < base.size() &&
         IsTrivial(dimensions_[base.size() - 1 - trivial_tail_].window)) {
    ++trivial_tail_;
  }
}

IndexRange WindowTaps::Dimension::Interior(int64_t places) const {
  if (window.base_dilation != 1) return {};
  // Place p covers [p·stride - low, p·stride - low + extent].
  const int64_t low = window.padding_low;
  const int64_t extent = (window.size - 1) * window.window_dilation;
  const int64_t last = size - 1 - extent + low;
  const int64_t begin = low <= 0 ? 0 : (low - 1) / window.stride + 1;
  const int64_t end = last < 0 ? 0 : std::min(places, last / window.stride + 1);
  return {std::min(begin, end), end};
}

std::optional<size_t> WindowTaps::only_dimension() const {
  std::optional<size_t> only;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    if (IsTrivial(dimensions_[d].window)) continue;
    if (only) return std::nullopt;
    only = d;
  }
  return only;
}

std::optional<size_t> WindowTaps::running_dimension() const {
  const std::optional<size_t> d = only_dimension();
  if (!d) return std::nullopt;
  const hlo::WindowDimension& w = dimensions_[*d].window;
  const bool covers_all_before = w.stride == 1 && w.window_dilation == 1 && w.base_dilation == 1 &&
                                 w.padding_high == 0 && w.padding_low == w.size - 1 &&
                                 w.size >= dimensions_[*d].size;
  return covers_all_before ? d : std::nullopt;
}

void WindowTaps::OffsetsAt(std::span<const int64_t> place, std::vector<int64_t>& offsets) const {
  offsets.assign(1, 0);
  std::vector<int64_t> next;
  for (size_t d = 0; d < place.size(); ++d) {
    const auto& [w, size, stride] = dimensions_[d];
    next.clear();
    for (int64_t offset : offsets) {
      for (int64_t k = 0; k < w.size; ++k) {
        const int64_t at = place[d] * w.stride + k * w.window_dilation - w.padding_low;
        if (at < 0 || at % w.base_dilation != 0 || at / w.base_dilation >= size) continue;
        next.push_back(offset + at / w.base_dilation * stride);
      }
    }
    offsets.swap(next);
  }
}

}  // namespace hloscope::eval
