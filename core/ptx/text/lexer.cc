#include "core/ptx/text/lexer.h"

#include <bit>
#include <charconv>

namespace hloscope::ptx {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool StartsName(char c) { return IsLetter(c) || c == '_' || c == '$' || c == '%'; }
bool IsName(char c) { return StartsName(c) || IsDigit(c); }

}  // namespace

void Lexer::SkipSpace() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.substr(at_, 2) == "/*") {
      at_ += 2;
      while (at_ < text_.size() && text_.substr(at_, 2) != "*/") {
        if (text_[at_++] != '\n') continue;
        ++line_;
        line_start_ = at_;
      }
      at_ = std::min(at_ + 2, text_.size());
    } else {
      return;
    }
  }
}

Token Lexer::Take(Token token, size_t length, TokenKind kind) {
  token.kind = kind;
  token.text = text_.substr(at_, length);
  at_ += length;
  return token;
}

Token Lexer::Bad(Token token, const char* message) {
  token = Take(token, 1, TokenKind::kBad);
  token.message = message;
  return token;
}

Token Lexer::Quoted(Token token) {
  const size_t end = text_.find_first_of("\"\n", at_ + 1);
  if (end == std::string_view::npos || text_[end] != '"') {
    return Bad(token, "a string without its closing quote");
  }
  token.kind = TokenKind::kString;
  token.text = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return token;
}

Token Lexer::Number(Token token) {
  const std::string_view rest = text_.substr(at_);
  const char second = rest.size() > 1 && rest[0] == '0' ? rest[1] : ' ';
  const auto digits_from = [&](size_t from, auto&& is_digit) {
    size_t end = from;
    while (end < rest.size() && is_digit(rest[end])) ++end;
    return end;
  };
  const auto take = [&](size_t from, size_t end, int base, TokenKind kind) {
    const auto [stop, error] =
        std::from_chars(rest.data() + from, rest.data() + end, token.value, base);
    if (error != std::errc() || stop != rest.data() + end || from == end) {
      return Bad(token, "a number that is malformed or has more than 64 bits");
    }
    if (kind == TokenKind::kInteger && end < rest.size() && rest[end] == 'U') ++end;
    if (end < rest.size() && IsName(rest[end])) return Bad(token, "a number that runs into a name");
    return Take(token, end, kind);
  };
  if (second == 'x' || second == 'X') {
    return take(2, digits_from(2, IsHex), 16, TokenKind::kInteger);
  }
  if (second == 'f' || second == 'F') {
    const size_t end = digits_from(2, IsHex);
    if (end != 10) return Bad(token, "an f32 constant needs 8 hexadecimal digits after 0f");
    return take(2, end, 16, TokenKind::kFloat32);
  }
  if (second == 'd' || second == 'D') {
    const size_t end = digits_from(2, IsHex);
    if (end != 18) return Bad(token, "an f64 constant needs 16 hexadecimal digits after 0d");
    return take(2, end, 16, TokenKind::kFloat64);
  }
  if (second == 'b' || second == 'B') {
    return take(2, digits_from(2, [](char c) { return c == '0' || c == '1'; }), 2,
                TokenKind::kInteger);
  }
  const size_t end = digits_from(0, IsDigit);
  if (end + 1 < rest.size() && rest[end] == '.' && IsDigit(rest[end + 1])) {
    double value = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (parsed.ec != std::errc()) return Bad(token, "a number that f64 cannot hold");
    token.value = std::bit_cast<uint64_t>(value);
    return Take(token, static_cast<size_t>(parsed.ptr - rest.data()), TokenKind::kFloat64);
  }
  const bool is_octal = end > 1 && rest[0] == '0';
  return take(is_octal ? 1 : 0, end, is_octal ? 8 : 10, TokenKind::kInteger);
}

Token Lexer::Next() {
  SkipSpace();
  Token token;
  token.position = {line_, static_cast<uint32_t>(at_ - line_start_ + 1)};
  if (at_ >= text_.size()) return token;
  const char c = text_[at_];
  if (IsDigit(c)) return Number(token);
  if (c == '"') return Quoted(token);
  if (StartsName(c)) {
    size_t end = at_ + 1;
    while (end < text_.size() && IsName(text_[end])) ++end;
    return Take(token, end - at_, TokenKind::kName);
  }
  if (c == '.') {
    size_t end = at_ + 1;
    while (end < text_.size() && (IsName(text_[end]) || text_.substr(end, 2) == "::")) {
      end += text_[end] == ':' ? 2 : 1;
    }
    if (end == at_ + 1) return Bad(token, "a dot without a name");
    return Take(token, end - at_, TokenKind::kDirective);
  }
  if (std::string_view("{}[]()<>,;:@!|+-=").find(c) != std::string_view::npos) {
    return Take(token, 1, TokenKind::kSign);
  }
  return Bad(token, "a character that PTX does not use here");
}

}  // namespace hloscope::ptx
