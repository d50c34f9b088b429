// How closely layouts have to agree (XLA: Shape::Equal). Internal to the verifier.
#pragma once

#include "core/hlo/shape.h"

namespace hloscope::hlo {

enum LayoutIgnore : unsigned {
  kIgnoreTiles = 1,
  kIgnoreMemorySpace = 2,
  kIgnoreElementSize = 4,
  kIgnoreTailPadding = 8,
  kIgnoreSplits = 16,
  kIgnoreDynamic = 32,
  kMinorToMajorOnly =
      kIgnoreTiles | kIgnoreMemorySpace | kIgnoreElementSize | kIgnoreTailPadding | kIgnoreSplits,
};

// The dimension at `position`, minor first; the default order where there is no layout, -1 where a
// broken one is too short.
int64_t MinorToMajor(const Shape& shape, size_t position);
// What stands after the colon of an array's layout.
const LayoutExtras& ExtrasOf(const Shape& shape);

// True if every array inside `a` and `b` (shapes that agree otherwise) is laid out alike; an absent
// layout is the default one. Dynamic dimensions have to agree too, unless ignored.
bool SameLayout(const Shape& a, const Shape& b, unsigned ignore = 0);

}  // namespace hloscope::hlo
