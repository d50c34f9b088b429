// WindowTaps: one table of offsets per dimension and place.
#include "core/eval/window_taps.h"

#include "core/eval/strided_copy.h"

namespace hloscope::eval {
namespace {

bool IsTrivial(const hlo::WindowDimension& w) { return w == hlo::WindowDimension{}; }

}  // namespace

WindowTaps::WindowTaps(const hlo::Window* window, std::span<const int64_t> base,
                       std::span<const int64_t> places) {
  std::vector<hlo::WindowDimension> dimensions;
  if (window != nullptr) dimensions = window->dimensions;
  dimensions.resize(base.size());
  const auto strides = RowMajorStrides(base);
  for (size_t d = 0; d < base.size(); ++d) {
    const hlo::WindowDimension& w = dimensions[d];
    auto& along = taps_.emplace_back(static_cast<size_t>(places[d]));
    for (int64_t place = 0; place < places[d]; ++place) {
      for (int64_t k = 0; k < w.size; ++k) {
        const int64_t at = place * w.stride + k * w.window_dilation - w.padding_low;
        if (at < 0 || at % w.base_dilation != 0 || at / w.base_dilation >= base[d]) continue;
        along[static_cast<size_t>(place)].push_back(at / w.base_dilation * strides[d]);
      }
    }
  }
  while (trivial_tail_ < base.size() && IsTrivial(dimensions[base.size() - 1 - trivial_tail_])) {
    ++trivial_tail_;
  }
}

void WindowTaps::OffsetsAt(std::span<const int64_t> place, std::vector<int64_t>& offsets) const {
  offsets.assign(1, 0);
  std::vector<int64_t> next;
  for (size_t d = 0; d < place.size(); ++d) {
    const auto& along = taps_[d][static_cast<size_t>(place[d])];
    if (along.size() == 1) {
      for (int64_t& offset : offsets) offset += along[0];
      continue;
    }
    next.clear();
    for (int64_t offset : offsets) {
      for (int64_t tap : along) next.push_back(offset + tap);
    }
    offsets.swap(next);
  }
}

}  // namespace hloscope::eval
