// Escapes of URLs, of JSON and C, of XML, and of mails.
#include <algorithm>
#include <charconv>
#include <utility>

#include "core/debug/bundle/redact_rules.h"

namespace hloscope::debug {
namespace {

struct Escape {
  size_t length = 0;  // 0: none begins there
  char character = 0;
};

constexpr int kOctal = 8, kDecimal = 10, kHex = 16;

// The character whose number has those digits, behind `prefix` characters; of ASCII alone, others
// are in no rule.
Escape NumberedEscape(std::string_view rest, size_t prefix, size_t digits, int base) {
  if (rest.size() < prefix + digits) return {};
  const char* const begin = rest.data() + prefix;
  unsigned code = 0;
  const auto read = std::from_chars(begin, begin + digits, code, base);
  const bool is_space = code == ' ' || code == '\t' || code == '\n';
  const bool is_ascii = is_space || (code > ' ' && code < 0x7F);
  if (read.ptr != begin + digits || !is_ascii) return {};
  return {prefix + digits, static_cast<char>(code)};
}

// &#61; &#x3d; &quot;
Escape EntityAt(std::string_view rest) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}};
  for (const auto& [name, character] : kNamed) {
    if (rest.starts_with(name)) return {name.size(), character};
  }
  const bool is_hex = rest.starts_with("&#x") || rest.starts_with("&#X");
  const size_t prefix = is_hex ? 3 : 2;
  const size_t end = rest.substr(0, prefix + 8).find(';');
  if (!rest.starts_with("&#") || end == rest.npos || end <= prefix) return {};
  Escape escape = NumberedEscape(rest, prefix, end - prefix, is_hex ? kHex : kDecimal);
  if (escape.length != 0) ++escape.length;
  return escape;
}

// =3D as mails have it: one of several next to one another.
Escape QuotedPrintableAt(std::string_view text, size_t at) {
  constexpr size_t kLength = 3;
  const auto is_one = [&](size_t begin) {
    return text.substr(begin).starts_with('=') &&
           NumberedEscape(text.substr(begin), 1, 2, kHex).length != 0;
  };
  const bool is_among = (at + kLength < text.size() && is_one(at + kLength)) ||
                        (at >= kLength && is_one(at - kLength));
  return is_among ? NumberedEscape(text.substr(at), 1, 2, kHex) : Escape();
}

Escape EscapeAt(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  if (rest.starts_with('%')) return NumberedEscape(rest, 1, 2, kHex);
  if (rest.starts_with('&')) return EntityAt(rest);
  if (rest.starts_with('=')) return QuotedPrintableAt(text, at);
  // A text within texts has its backslashes escaped too.
  constexpr size_t kMaxSlashes = 8;
  const size_t slashes =
      RunLength(rest.substr(0, kMaxSlashes), 0, [](char c) { return c == '\\'; });
  if (slashes == 0 || slashes == rest.size()) return {};
  const char kind = rest[slashes];
  if (kind == 'x') return NumberedEscape(rest, slashes + 1, 2, kHex);
  if (kind == 'u') return NumberedEscape(rest, slashes + 1, 4, kHex);
  if (kind >= '0' && kind <= '7') return NumberedEscape(rest, slashes, 3, kOctal);
  if (kind == '"' || kind == '\'') return {slashes + 1, kind};
  return slashes > 1 ? Escape{slashes, '\\'} : Escape();
}

}  // namespace

DecodedText DecodeEscapes(std::string_view text) {
  DecodedText decoded;
  bool has_any = false;
  constexpr std::string_view kBegins = "%\\&=";
  for (size_t at = text.find_first_of(kBegins); !has_any && at != text.npos;
       at = text.find_first_of(kBegins, at + 1)) {
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
