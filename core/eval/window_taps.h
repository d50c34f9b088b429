// WindowTaps: which elements of a base array lie under each position of a window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/attribute.h"
#include "core/hlo/shape.h"

namespace hloscope::eval {

class WindowTaps {
 public:
  // `window` may be null (every dimension trivial). `places` are the window's positions along each
  // dimension of `base`.
  WindowTaps(const hlo::Window* window, std::span<const int64_t> base,
             std::span<const int64_t> places);

  // Offsets into the base array, in row-major order of the window, of the elements that lie inside
  // it (neither padding nor between dilated ones) when the window stands at `place`. Only the first
  // place.size() dimensions are looked at.
  void OffsetsAt(std::span<const int64_t> place, std::vector<int64_t>& offsets) const;

  // How many of the last dimensions the window leaves alone: size 1, no padding, stride or
  // dilation.
  size_t trivial_tail() const { return trivial_tail_; }

 private:
  // Of each dimension and place: element offsets along it, dimension's stride included.
  std::vector<std::vector<std::vector<int64_t>>> taps_;
  size_t trivial_tail_ = 0;
};

}  // namespace hloscope::eval
