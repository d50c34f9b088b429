// Numbers in sentences, with their thousands apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope::graph {

// "120,345".
inline std::string CountText(int64_t count) {
  const std::string digits = std::to_string(count);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// "1 kernel", "2,351 instructions", "0 boxes".
template <typename Count>
std::string CountedText(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = CountText(static_cast<int64_t>(count)) + ' ';
  if (count == 1) return text.append(one);
  if (!many.empty()) return text.append(many);
  return text.append(one).append("s");
}

}  // namespace hloscope::graph
