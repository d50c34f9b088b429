// Tokens of PTX text with their lines and columns.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/ptx/text/syntax.h"

namespace hloscope::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kName,       // add, %r1, $L__BB0_2, _
  kDirective,  // .reg, .b32, .shared::cta (with its dot)
  kInteger,    // value
  kFloat32,    // value: its 32 bits
  kFloat64,    // value: its bits
  kString,     // without its quotes
  kSign,       // one character
  kBad,        // message: what is wrong
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  uint64_t value = 0;
  Position position;
  const char* message = nullptr;

  bool Is(char sign) const { return kind == TokenKind::kSign && text[0] == sign; }
};

// Reads tokens one after another; never reads beyond the text.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  Token Next();

 private:
  void SkipSpace();
  Token Number(Token token);
  Token Quoted(Token token);
  Token Take(Token token, size_t length, TokenKind kind);
  Token Bad(Token token, const char* message);

  std::string_view text_;
  size_t at_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
};

}  // namespace hloscope::ptx
