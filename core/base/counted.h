// Counted: a number with its noun, in the singular where it is one, and the verb that follows it.
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

// The form of a verb or pronoun: VerbFor(1, "differs", "differ") is "differs".
template <typename Count>
constexpr std::string_view VerbFor(Count count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace hloscope
