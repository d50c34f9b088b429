// Names that are the same in any case of letters.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace hloscope::replay {

inline bool IsSameInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

}  // namespace hloscope::replay
