// WindowTaps: which elements of a base array lie under each position of a window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/jobs.h"
#include "core/hlo/attribute.h"
#include "core/hlo/shape.h"

namespace hloscope::eval {

class WindowTaps {
 public:
  // `window` may be null (every dimension trivial); `base` are the sizes of the base array.
  WindowTaps(const hlo::Window* window, std::span<const int64_t> base);

  // Offsets into the base array, in row-major order of the window, of the elements that lie inside
  // it (neither padding nor between dilated ones) when the window stands at `place`. Only the first
  // place.size() dimensions are looked at.
  void OffsetsAt(std::span<const int64_t> place, std::vector<int64_t>& offsets) const;

  // One dimension of the base array and of the window over it.
  struct Dimension {
    hlo::WindowDimension window;
    int64_t size, stride;  // of the base

    // The places [begin, end) below `places` whose every element lies inside the base; empty where
    // the base is dilated.
    IndexRange Interior(int64_t places) const;
  };
  const Dimension& dimension(size_t d) const { return dimensions_[d]; }

  // How many of the last dimensions the window leaves alone: size 1, no padding, stride or
  // dilation.
  size_t trivial_tail() const { return trivial_tail_; }
  // The dimension that the window does not leave alone, if there is exactly one.
  std::optional<size_t> only_dimension() const;
  // That dimension if every place covers all elements up to its own: a running reduction.
  std::optional<size_t> running_dimension() const;

 private:
  std::vector<Dimension> dimensions_;
  size_t trivial_tail_ = 0;
};

}  // namespace hloscope::eval
