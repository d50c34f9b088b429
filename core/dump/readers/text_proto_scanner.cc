// Tokens of protobuf's text format.
#include "core/dump/readers/text_proto_scanner.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/hlo/proto/debug_mark.h"
#include "core/hlo/text/log_prefix.h"

namespace hloscope::dump {
namespace {

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

int HexValue(char c) {
  if (IsDecimal(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The value of up to `most` digits from `at` on, which goes behind them.
uint32_t Digits(std::string_view text, size_t& at, size_t most, uint32_t base) {
  uint32_t value = 0;
  for (const size_t end = std::min(at + most, text.size()); at < end; ++at) {
    const int digit = HexValue(text[at]);
    if (digit < 0 || digit >= static_cast<int>(base)) break;
    value = value * base + static_cast<uint32_t>(digit);
  }
  return value;
}

// "\uXXXX" or "\UXXXXXXXX" behind its letter; two halves of a surrogate pair are one character.
bool AppendCharacter(std::string_view text, size_t& at, size_t digits, std::string& out) {
  const size_t begin = at;
  uint32_t code = Digits(text, at, digits, 16);
  if (at - begin != digits || code > 0x10ffff) return false;
  constexpr uint32_t kHead = 0xd800, kTrail = 0xdc00, kPast = 0xe000;
  if (code >= kHead && code < kTrail && text.substr(at).starts_with("\\u")) {
    size_t behind = at + 2;
    const uint32_t trail = Digits(text, behind, 4, 16);
    if (behind == at + 6 && trail >= kTrail && trail < kPast) {
      code = 0x10000 + ((code - kHead) << 10) + (trail - kTrail);
      at = behind;
    }
  }
  out += EncodeUtf8(code);
  return true;
}

}  // namespace

bool AppendTextProtoString(std::string_view token, std::string& out) {
  token = token.substr(1, token.size() - 2);
  constexpr std::string_view kLetters = "abfnrtv\\?'\"", kMeanings = "\a\b\f\n\r\t\v\\?'\"";
  for (size_t at = 0; at < token.size();) {
    if (token[at] != '\\') {
      out += token[at++];
      continue;
    }
    if (++at == token.size()) return false;
    const char letter = token[at];
    if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      out += kMeanings[known];
      ++at;
    } else if (IsOctal(letter)) {
      out += static_cast<char>(Digits(token, at, 3, 8));
    } else if (letter == 'x' || letter == 'X') {
      const size_t begin = ++at;
      const uint32_t value = Digits(token, at, 2, 16);
      if (at == begin) return false;
      out += static_cast<char>(value);
    } else if (letter == 'u' || letter == 'U') {
      ++at;
      if (!AppendCharacter(token, at, letter == 'u' ? 4 : 8, out)) return false;
    } else {
      return false;
    }
  }
  return true;
}

TextProtoScanner::TextProtoScanner(std::string_view text) : text_(text) {
  if (text.starts_with(hlo::kByteOrderMark)) at_ = line_begin_ = hlo::kByteOrderMark.size();
  const size_t mark = DebugMarkLength(text_.substr(at_));
  for (const size_t end = at_ + mark; at_ < end; ++at_) {
    if (text_[at_] != '\n') continue;
    ++line_;
    line_begin_ = at_ + 1;
  }
  Take();
}

void TextProtoScanner::SkipSpace() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
    }
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
      return;
    }
  }
}

void TextProtoScanner::Take() {
  SkipSpace();
  token_ = {TextProtoTokenKind::kEnd, {}, line_, static_cast<uint32_t>(at_ - line_begin_ + 1)};
  if (at_ == text_.size()) return;
  const char c = text_[at_];
  size_t length = 1;
  if (IsLetter(c)) {
    token_.kind = TextProtoTokenKind::kName;
    while (IsLetter(At(length)) || IsDecimal(At(length))) ++length;
  } else if (IsDecimal(c) || (c == '.' && IsDecimal(At(1)))) {
    length = LengthOfNumber();
  } else if (c == '"' || c == '\'') {
    length = LengthOfString();
  } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) {
    length = Wrong(1, "a character of the text format");
  } else {
    token_.kind = TextProtoTokenKind::kSymbol;
  }
  token_.text = text_.substr(at_, length);
  at_ += length;
}

size_t TextProtoScanner::Wrong(size_t length, std::string_view why) {
  token_.kind = TextProtoTokenKind::kWrong;
  why_ = why;
  return length;
}

// Sets the kind of the token.
size_t TextProtoScanner::LengthOfNumber() {
  size_t length = 0;
  const auto skip = [&](auto is_part) {
    const size_t begin = length;
    while (is_part(At(length))) ++length;
    return length > begin;
  };
  token_.kind = TextProtoTokenKind::kInteger;
  std::string_view why;
  if (At(0) == '0' && (At(1) == 'x' || At(1) == 'X')) {
    length = 2;
    if (!skip([](char c) { return HexValue(c) >= 0; })) why = "hexadecimal digits after 0x";
  } else if (At(0) == '0' && IsDecimal(At(1))) {
    skip(IsOctal);
    if (skip(IsDecimal)) why = "octal digits after a leading 0";
  } else {
    skip(IsDecimal);
    if (At(length) == '.') {
      token_.kind = TextProtoTokenKind::kFloat;
      ++length;
      skip(IsDecimal);
    }
    if (At(length) == 'e' || At(length) == 'E') {
      token_.kind = TextProtoTokenKind::kFloat;
      ++length;
      if (At(length) == '-' || At(length) == '+') ++length;
      if (!skip(IsDecimal)) why = "digits of an exponent";
    }
    if (At(length) == 'f' || At(length) == 'F') {
      token_.kind = TextProtoTokenKind::kFloat;
      ++length;
    }
  }
  if (skip([](char c) { return IsLetter(c) || IsDecimal(c) || c == '.'; }) && why.empty())
    why = "a space after a number";
  return why.empty() ? length : Wrong(length, why);
}

// Sets the kind of the token. A string that does not end is its line.
size_t TextProtoScanner::LengthOfString() {
  const char quote = At(0);
  size_t length = 1;
  for (; at_ + length < text_.size() && At(length) != '\n'; ++length) {
    if (At(length) == quote) {
      token_.kind = TextProtoTokenKind::kString;
      return length + 1;
    }
    if (At(length) == '\\' && at_ + length + 1 < text_.size() && At(length + 1) != '\n') ++length;
  }
  return Wrong(length, "a closing quote on the same line");
}

}  // namespace hloscope::dump
