// What a stranger wrote, shown in part: so many entries of a list, so many bytes of a text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::debug {

inline std::string BoundedText(std::string_view text) {
  constexpr size_t kMost = size_t{4} << 10;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not within a character
  return fmt::format("{}… and {} more bytes", text.substr(0, end), text.size() - end);
}

inline void BoundTexts(std::vector<std::string>& texts) {
  constexpr size_t kMost = 20;
  const size_t more = texts.size() - std::min(texts.size(), kMost);
  texts.resize(texts.size() - more);
  for (std::string& text : texts) text = BoundedText(text);
  if (more > 0) texts.push_back(fmt::format("and {} more", more));
}

}  // namespace hloscope::debug
