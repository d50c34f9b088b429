// Escapes of URLs, of JSON and of C.
#include <charconv>

#include "core/debug/bundle/redact_rules.h"

namespace hloscope::debug {
namespace {

struct Escape {
  size_t length = 0;  // 0: none begins there
  char character = 0;
};

// Of ASCII characters alone; others are in no rule.
Escape EscapeAt(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  size_t prefix = 0, digits = 2;
  if (rest.starts_with('%')) {
    prefix = 1;
  } else if (rest.starts_with("\\x")) {
    prefix = 2;
  } else if (rest.starts_with("\\u")) {
    prefix = 2;
    digits = 4;
  }
  if (prefix == 0 || rest.size() < prefix + digits) return {};
  const std::string_view number = rest.substr(prefix, digits);
  unsigned code = 0;
  constexpr int kHex = 16;
  const auto read = std::from_chars(number.data(), number.data() + digits, code, kHex);
  const bool is_space = code == ' ' || code == '\t' || code == '\n';
  const bool is_ascii = is_space || (code > ' ' && code < 0x7F);
  if (read.ptr != number.data() + digits || !is_ascii) return {};
  return {prefix + digits, static_cast<char>(code)};
}

}  // namespace

DecodedText DecodeEscapes(std::string_view text) {
  DecodedText decoded;
  bool has_any = false;
  for (size_t at = text.find_first_of("%\\"); !has_any && at != text.npos;
       at = text.find_first_of("%\\", at + 1)) {
    has_any = EscapeAt(text, at).length != 0;
  }
  if (!has_any) return decoded;
  for (size_t at = 0; at < text.size();) {
    const Escape escape = EscapeAt(text, at);
    decoded.origins.push_back(at);
    decoded.text += escape.length == 0 ? text[at] : escape.character;
    at += escape.length == 0 ? 1 : escape.length;
  }
  decoded.origins.push_back(text.size());
  return decoded;
}

}  // namespace hloscope::debug
