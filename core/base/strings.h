// ASCII letters in one case, and parts between separators, under the names of absl; numbered names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope {

/// `c` in lower case where it is an ASCII letter, whatever the locale.
constexpr char AsciiToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `c` in upper case where it is an ASCII letter, whatever the locale.
constexpr char AsciiToUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// `text` with its ASCII letters in lower case.
inline std::string AsciiStrToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = AsciiToLower(c);
  return lower;
}

/// `text` with its ASCII letters in upper case.
inline std::string AsciiStrToUpper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = AsciiToUpper(c);
  return upper;
}

/// The parts of `text` between separators, empty ones too: at least one part.
inline std::vector<std::string_view> StrSplit(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// "Reshape" of "Reshape_3", as TensorFlow and JAX number names; one without such an end as it is.
constexpr std::string_view WithoutNumberSuffix(std::string_view name) {
  const size_t last = name.find_last_not_of("0123456789");
  const bool has_number =
      last != std::string_view::npos && last + 1 < name.size() && name[last] == '_';
  return has_number ? name.substr(0, last) : name;
}

}  // namespace hloscope
