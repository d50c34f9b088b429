// Pieces of a line of a log.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace hloscope::debug {

// What stands behind `mark`; nullopt where it does not occur.
inline std::optional<std::string_view> Behind(std::string_view line, std::string_view mark) {
  const size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + mark.size());
}
// What stands before `mark`; everything where it does not occur.
inline std::string_view Before(std::string_view line, std::string_view mark) {
  return line.substr(0, line.find(mark));
}
inline std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}
// The number that `text` begins with.
inline std::optional<double> LeadingNumber(std::string_view text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || !(number >= 0) || number > 1e12) return std::nullopt;
  return number;
}

}  // namespace hloscope::debug
