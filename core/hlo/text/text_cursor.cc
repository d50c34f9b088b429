#include "core/hlo/text/text_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "core/base/work_count.h"

namespace hloscope::hlo {
namespace {

constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] = 3;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] = 3;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] = 2;
  classes['_'] = 3;
  classes['.'] = 2;
  classes['-'] = 2;
  for (unsigned char c : {'{', '}', '[', ']', '(', ')', '"', '\'', '/'})
    classes[static_cast<size_t>(c)] = 4;
  return classes;
}
constexpr auto kClasses = MakeClasses();

// The first `c` in [from, to); null if there is none.
const char* Find(const char* from, const char* to, char c) {
  if (from >= to) return nullptr;
  return static_cast<const char*>(std::memchr(from, c, static_cast<size_t>(to - from)));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Reads up to `max` digits of the given base from raw[at…]; advances `at`.
uint32_t ReadDigits(std::string_view raw, size_t& at, size_t max, int base) {
  uint32_t value = 0;
  for (size_t n = 0; n < max && at < raw.size(); ++n, ++at) {
    int digit = HexDigit(raw[at]);
    if (digit < 0 || digit >= base) break;
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
  }
  return value;
}

// Decodes the escape whose letter is raw[at]; false if it is not one.
bool DecodeEscape(std::string_view raw, size_t& at, std::string& out) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"?`";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?`";
  char c = raw[at];
  if (size_t k = kLetters.find(c); k != std::string_view::npos) {
    out += kMeanings[k];
    ++at;
    return true;
  }
  if (c >= '0' && c <= '7') {
    uint32_t value = ReadDigits(raw, at, 3, 8);
    if (value > 0xff) return false;
    out += static_cast<char>(value);
    return true;
  }
  if (c != 'x' && c != 'X' && c != 'u' && c != 'U') return false;
  size_t start = ++at;
  if (c == 'x' || c == 'X') {
    uint32_t value = ReadDigits(raw, at, 8, 16);
    if (at == start || value > 0xff) return false;
    out += static_cast<char>(value);
    return true;
  }
  size_t digits = c == 'u' ? 4 : 8;
  uint32_t value = ReadDigits(raw, at, digits, 16);
  if (at - start != digits || value > 0x10ffff) return false;
  AppendUtf8(out, value);
  return true;
}

}  // namespace

const uint8_t TextCursor::kClass[256] = {
#define ROW(i)                                                                     \
  kClasses[i], kClasses[i + 1], kClasses[i + 2], kClasses[i + 3], kClasses[i + 4], \
      kClasses[i + 5], kClasses[i + 6], kClasses[i + 7]
    ROW(0),   ROW(8),   ROW(16),  ROW(24),  ROW(32),  ROW(40),  ROW(48),  ROW(56),
    ROW(64),  ROW(72),  ROW(80),  ROW(88),  ROW(96),  ROW(104), ROW(112), ROW(120),
    ROW(128), ROW(136), ROW(144), ROW(152), ROW(160), ROW(168), ROW(176), ROW(184),
    ROW(192), ROW(200), ROW(208), ROW(216), ROW(224), ROW(232), ROW(240), ROW(248),
#undef ROW
};

std::optional<std::string> Unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t at = 0; at < raw.size();) {
    if (raw[at] != '\\') {
      out += raw[at++];
      continue;
    }
    ++at;
    if (at == raw.size() || !DecodeEscape(raw, at, out)) return std::nullopt;
  }
  return out;
}

bool TextCursor::SkipComment() {
  if (end_ - position_ < 2) return false;
  if (position_[1] == '/') {
    while (position_ != end_ && *position_ != '\n' && *position_ != '\r') ++position_;
    return true;
  }
  if (position_[1] != '*') return false;
  std::string_view rest(position_ + 2, static_cast<size_t>(end_ - position_ - 2));
  size_t close = rest.find("*/");
  CountWork(std::min(close, rest.size()));
  if (close == std::string_view::npos) return false;
  position_ += close + 4;
  return true;
}

bool TextCursor::Consume(std::string_view punctuation) {
  SkipSpace();
  std::string_view rest(position_, static_cast<size_t>(end_ - position_));
  if (!rest.starts_with(punctuation)) return false;
  position_ += punctuation.size();
  return true;
}

bool TextCursor::ConsumeWord(std::string_view word) {
  SkipSpace();
  const char* start = position_;
  if (ReadIdentifier() == word) return true;
  position_ = start;
  return false;
}

bool TextCursor::ConsumeAttributeName(std::string_view word) {
  SkipSpace();
  const char* start = position_;
  if (ReadIdentifier() == word && position_ != end_ && *position_ == '=') {
    ++position_;
    return true;
  }
  position_ = start;
  return false;
}

std::string_view TextCursor::ReadWord() {
  SkipSpace();
  const char* start = position_;
  if (start == end_ || !IsIdentifierStart(*start)) return {};
  while (position_ != end_ && IsIdentifierPart(*position_) && *position_ != '-' &&
         *position_ != '.') {
    ++position_;
  }
  return Since(start);
}

std::optional<int64_t> TextCursor::ReadInt() {
  SkipSpace();
  int64_t value = 0;
  auto [after, error] = std::from_chars(position_, end_, value);
  if (error != std::errc()) return std::nullopt;
  position_ = after;
  return value;
}

std::optional<TextCursor::RawString> TextCursor::ReadRawString() {
  char quote = Peek();
  if (quote != '"' && quote != '\'') return std::nullopt;
  const char* start = position_ + 1;
  const char* close = start;
  bool has_escapes = false;
  // `close` is searched again only behind an escape that jumped over it, so that a string of
  // escapes is read in linear time.
  for (const char* from = start;;) {
    if (close <= from) close = Find(from, end_, quote);
    if (close == nullptr) return std::nullopt;
    const char* escape = Find(from, close, '\\');
    if (escape == nullptr) break;
    has_escapes = true;
    from = escape + 2;
    if (from > close) close = from;
    if (from > end_) return std::nullopt;
  }
  position_ = close + 1;
  return RawString{{start, static_cast<size_t>(close - start)}, has_escapes};
}

std::optional<std::string> TextCursor::ReadString() {
  const char* start = position_;
  std::optional<RawString> raw = ReadRawString();
  if (!raw) return std::nullopt;
  if (!raw->has_escapes) return std::string(raw->text);
  std::optional<std::string> text = Unescape(raw->text);
  if (!text) position_ = start;
  return text;
}

std::optional<std::string_view> TextCursor::ReadGroup() {
  char open = Peek();
  if (open != '{' && open != '[' && open != '(') return std::nullopt;
  const char* start = position_;
  int64_t depth = 0;
  bool quotes_end = true;    // false once a lone apostrophe was seen: it need not be a quote
  bool comments_end = true;  // false once a comment was seen that does not
  for (; position_ != end_; ++position_) {
    while (position_ != end_ && (kClass[static_cast<uint8_t>(*position_)] & 4) == 0) ++position_;
    if (position_ == end_) break;
    char c = *position_;
    if (c == '"' || c == '\'') {
      if (c == '\'' && !quotes_end) continue;
      if (ReadRawString()) {
        --position_;
      } else if (c == '"') {
        break;
      } else {
        quotes_end = false;
      }
    } else if (c == '/') {
      const bool is_block = position_ + 1 != end_ && position_[1] == '*';
      if (is_block && !comments_end) continue;
      if (SkipComment()) {
        --position_;
      } else if (is_block) {
        comments_end = false;
      }
    } else if (c == '{' || c == '[' || c == '(') {
      ++depth;
    } else if (--depth == 0) {
      ++position_;
      CountWork(Since(start).size());
      return Since(start);
    }
  }
  CountWork(static_cast<size_t>(position_ - start));
  position_ = start;
  return std::nullopt;
}

std::optional<std::string_view> TextCursor::ReadJsonDict() {
  if (Peek() != '{') return std::nullopt;
  const char* start = position_;
  int64_t depth = 0;
  for (; position_ != end_; ++position_) {
    while (position_ != end_ && (kClass[static_cast<uint8_t>(*position_)] & 4) == 0) ++position_;
    if (position_ == end_) break;
    if (*position_ == '"') {
      if (!ReadRawString()) break;
      --position_;
    } else if (*position_ == '{') {
      ++depth;
    } else if (*position_ == '}' && --depth == 0) {
      ++position_;
      return Since(start);
    }
  }
  position_ = start;
  return std::nullopt;
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool IsJsonDict(std::string_view text) {
  TextCursor cursor(text);
  return cursor.ReadJsonDict() && cursor.AtEnd();
}

std::string_view TextCursor::ReadRawValue() {
  SkipSpace();
  const char* start = position_;
  while (position_ != end_) {
    char c = *position_;
    if (c == ',' || c == '}' || c == ']' || c == ')' || c == '\n') break;
    if (c == '{' || c == '[' || c == '(') {
      if (!ReadGroup()) break;
    } else if (c == '"' || c == '\'') {
      if (!ReadRawString()) break;
    } else {
      ++position_;
    }
  }
  std::string_view value = Since(start);
  while (!value.empty() && IsSpace(value.back())) value.remove_suffix(1);
  return value;
}

Diagnostic TextCursor::Expected(std::string_view what, std::string_view rule) {
  SkipSpace();
  std::string message = "expected " + std::string(what);
  if (position_ == end_) {
    message += ", found the end of the text";
  } else {
    const char* stop = position_;
    while (stop != end_ && !IsSpace(*stop) && stop - position_ < 24) ++stop;
    message += ", found `" + std::string(position_, stop) + "`";
  }
  return Fail(rule, std::move(message), offset());
}

}  // namespace hloscope::hlo
