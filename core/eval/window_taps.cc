// WindowTaps: one table of offsets per dimension and place.
#include "core/eval/window_taps.h"

#include "core/eval/strided_copy.h"

namespace hloscope::eval {
namespace {

bool IsTrivial(const hlo::WindowDimension& w) { return w == hlo::WindowDimension{}; }

}  // namespace

WindowTaps::WindowTaps(const hlo::Window* window, std::span<const int64_t> base) {
  std::vector<hlo::WindowDimension> windows;
  if (window != nullptr) windows = window->dimensions;
  windows.resize(base.size());
  const auto strides = RowMajorStrides(base);
  for (size_t d = 0; d < base.size(); ++d) dimensions_.push_back({windows[d], base[d], strides[d]});
  while (trivial_tail_ < base.size() &&
         IsTrivial(dimensions_[base.size() - 1 - trivial_tail_].window)) {
    ++trivial_tail_;
  }
}

std::optional<size_t> WindowTaps::running_dimension() const {
  std::optional<size_t> running;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const hlo::WindowDimension& w = dimensions_[d].window;
    if (IsTrivial(w)) continue;
    const bool covers_all_before = w.stride == 1 && w.window_dilation == 1 &&
                                   w.base_dilation == 1 && w.padding_high == 0 &&
                                   w.padding_low == w.size - 1 && w.size >= dimensions_[d].size;
    if (running || !covers_all_before) return std::nullopt;
    running = d;
  }
  return running;
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
