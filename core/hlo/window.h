// Arithmetic of window dimensions: how many places a padded, dilated and strided window has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/hlo/attribute.h"

namespace hloscope::hlo {

// Extent of `size` elements that are `dilation` apart: (size-1)*dilation+1, and 0 for none.
// Nullopt on overflow; both arguments are positive (or size is 0).
std::optional<int64_t> DilatedExtent(int64_t size, int64_t dilation);

// Number of places of the window along a base dimension of `base` elements. An error says which
// rule the window breaks: size, stride and dilations are positive, and the padding may not take
// away more than there is.
Result<int64_t> WindowPlaces(const WindowDimension& window, int64_t base);

// "size=3 stride=2 pad=1_1 …", as messages show it.
std::string Text(const WindowDimension& window);

}  // namespace hloscope::hlo
