// UTF-8 decoding and the escapes that build on it.
#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/base/escape.h"

namespace hloscope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Characters that are invisible or change the order in which their neighbours are shown.
bool IsDeceptive(uint32_t code) {
  return code == 0xAD || code == 0x61C || code == 0x180E || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2060 && code <= 0x206F) ||
         code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE0FFF);
}

bool IsControl(uint32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

// Plain ASCII that no escape touches but HTML's; the fast path of every loop here.
bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7F; }

size_t PlainPrefix(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && IsPlainAscii(text[n])) ++n;
  return n;
}

void AppendByteEscape(std::string& out, char c) {
  fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
}

template <typename Float>
std::string ShortestFloatText(Float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

std::string_view HtmlReference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '`':
      return "&#96;";
    default:
      return {};
  }
}

}  // namespace

Utf8Character DecodeUtf8(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  uint32_t code = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return {};
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

std::string EncodeUtf8(uint32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return std::string(kReplacement);
  const auto tail = [code](int shift) {
    return static_cast<char>(0x80 | ((code >> shift) & 0x3F));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = DecodeUtf8(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string RepairUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = DecodeUtf8(text).length;
    if (length == 0) AppendByteEscape(out, text[0]);
    out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string EscapeForTerminal(std::string_view text, LineBreaks breaks) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t plain = PlainPrefix(text);
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [code, length] = DecodeUtf8(text);
    const bool keep = breaks == LineBreaks::kKeep && (text[0] == '\n' || text[0] == '\t');
    if (length <= 1 && !keep) {
      AppendByteEscape(out, text[0]);
    } else if (!keep && (IsControl(code) || IsDeceptive(code))) {
      fmt::format_to(std::back_inserter(out), "\\u{{{:04x}}}", code);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = DecodeUtf8(text);
    const bool layout = code == '\n' || code == '\t';
    if (length == 0 || (IsControl(code) && !layout) || IsDeceptive(code)) {
      out += kReplacement;
    } else if (const std::string_view reference = HtmlReference(text[0]); !reference.empty()) {
      out += reference;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

bool IsUnsafeCharacter(uint32_t code) { return IsControl(code) || IsDeceptive(code); }

namespace {

// Spreadsheets take the full-width forms of the signs as well.
bool BeginsFormula(std::string_view text) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"=", "+", "-", "@", "＝", "＋", "－", "＠"},
      [&](std::string_view sign) { return text.starts_with(sign); });
}

// "-1.5e3", "+2", "-3%", and what text forms have of numbers that are not finite; "-1+2" is none.
bool IsNumber(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  if (text.ends_with('%')) text.remove_suffix(1);
  double number = 0;
  const auto [after, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem != std::errc::invalid_argument && after == text.data() + text.size();
}

}  // namespace

void AppendCsvCell(std::string& out, std::string_view text, CsvQuotes quotes) {
  const bool is_formula = BeginsFormula(text) && !IsNumber(text);
  const bool needs_quotes = text.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quotes == CsvQuotes::kWhereNeeded && !needs_quotes && !is_formula &&
      PlainPrefix(text) == text.size()) {
    out += text;
    return;
  }
  const bool in_quotes = quotes == CsvQuotes::kAlways || needs_quotes;
  if (in_quotes) out += '"';
  if (is_formula) out += '\'';
  for (const char c : EscapeForTerminal(text)) out.append(c == '"' ? 2 : 1, c);
  if (in_quotes) out += '"';
}

std::string EscapeMarkdown(std::string_view text) {
  std::string out;
  for (const char c : EscapeForTerminal(text)) {
    constexpr std::string_view kSpecial = "\\`*_[]|#~";
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '@') {
      out += "&#64;";
    } else {
      if (kSpecial.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string DotString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto [code, length] = DecodeUtf8(text);
    const std::string_view character = text.substr(0, length);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '"' || code == '\\') {
      out.append("\\").append(character);
    } else if (length == 0 || IsUnsafeCharacter(code)) {
      out += kReplacement;
    } else {
      out += character;
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "\"";
}

std::string ShortestText(double value) { return ShortestFloatText(value); }
std::string ShortestText(float value) { return ShortestFloatText(value); }

}  // namespace hloscope
