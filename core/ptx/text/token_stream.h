// A lexer with one token of look-ahead, and errors that carry their place.
#pragma once

#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/ptx/text/lexer.h"

namespace hloscope::ptx {

class TokenStream {
 public:
  TokenStream(std::string_view text, const std::string& file) : lexer_(text), file_(file) {
    Advance();
  }

  const Token& token() const { return token_; }
  Token Take() {
    Token taken = token_;
    Advance();
    return taken;
  }
  bool TakeIf(char sign) {
    if (!token_.Is(sign)) return false;
    Advance();
    return true;
  }
  bool TakeDirective(std::string_view text) {
    if (token_.kind != TokenKind::kDirective || token_.text != text) return false;
    Advance();
    return true;
  }
  Status Expect(char sign, const char* where) {
    if (TakeIf(sign)) return {};
    return Fail(token_.position, Found() + ", expected '" + sign + "' " + where,
                "write the missing token, or remove the one before it");
  }
  Result<Token> ExpectKind(TokenKind kind, const char* what) {
    if (token_.kind == kind) return Take();
    return Fail(token_.position, Found() + ", expected " + what,
                "see the PTX ISA for this statement");
  }
  // "found …" for messages, with the lexer's own words for a bad token.
  std::string Found() const {
    if (token_.kind == TokenKind::kEnd) return "the text ends";
    if (token_.kind == TokenKind::kBad) return token_.message;
    return "found `" + std::string(token_.text.substr(0, 60)) + "`";
  }
  std::unexpected<Error> Fail(Position position, std::string message, std::string hint) const {
    return std::unexpected(Error{ErrorClass::kInput,
                                 std::move(message),
                                 {file_, position.line, position.column},
                                 std::move(hint)});
  }
  const std::string& file() const { return file_; }

 private:
  void Advance() { token_ = lexer_.Next(); }

  Lexer lexer_;
  Token token_;
  const std::string& file_;
};

}  // namespace hloscope::ptx
