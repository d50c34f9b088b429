// ByShape: a fact of each interned shape, found once. To look at a tuple takes as long as it has
// elements, and each instruction that takes one of them asks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/hlo/attribute.h"

namespace hloscope::hlo {

template <typename T>
class ByShape {
 public:
  /// The fact of the shape with that id; `find` finds it the first time.
  template <typename Find>
  T Get(ShapeId id, Find find) {
    if (known_.size() <= id.index) known_.resize(size_t{id.index} + 1);
    std::optional<T>& fact = known_[id.index];
    if (!fact) fact = find();
    return *fact;
  }
  /// One that was found before.
  T Known(ShapeId id) const { return *known_[id.index]; }

 private:
  std::vector<std::optional<T>> known_;
};

}  // namespace hloscope::hlo
