// Counted: a number with its noun, in the singular where it is one.
#pragma once

#include <string>
#include <string_view>

namespace hloscope {

// "1 module", "3 modules", "0 entries" (Counted(0, "entry", "entries")).
template <typename Count>
std::string Counted(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1) return text.append(one);
  if (!many.empty()) return text.append(many);
  return text.append(one).append("s");
}

}  // namespace hloscope
