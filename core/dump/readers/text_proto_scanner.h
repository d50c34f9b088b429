// TextProtoScanner: the tokens of protobuf's text format, each with its place. Grammar:
// https://protobuf.dev/reference/protobuf/textformat-spec/; what is allowed between a number and a
// name, and in escapes, as protobuf's own tokenizer has it. Linear, without allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope::dump {

enum class TextProtoTokenKind : uint8_t {
  kEnd,
  kName,
  kInteger,  // decimal, octal or hexadecimal, without a sign
  kFloat,
  kString,  // with its quotes, escapes as they stand
  kSymbol,  // one character
  kWrong,   // none of these; TextProtoScanner::why() says what was expected
};

struct TextProtoToken {
  TextProtoTokenKind kind = TextProtoTokenKind::kEnd;
  std::string_view text;
  uint32_t line = 1, column = 1;  // of its first byte; columns are bytes

  bool Is(char symbol) const {
    return kind == TextProtoTokenKind::kSymbol && text.front() == symbol;
  }
};

class TextProtoScanner {
 public:
  // Passes over a mark of a message printed for debugging, and over a byte order mark. `text` must
  // outlive the tokens.
  explicit TextProtoScanner(std::string_view text);

  // The next token, which Take() goes beyond.
  const TextProtoToken& token() const { return token_; }
  void Take();
  bool TakeIf(char symbol) {
    if (!token_.Is(symbol)) return false;
    Take();
    return true;
  }
  // What was expected where the token is kWrong: "a closing quote on the line".
  std::string_view why() const { return why_; }

 private:
  void SkipSpace();
  size_t LengthOfNumber();
  size_t LengthOfString();
  size_t Wrong(size_t length, std::string_view why);
  char At(size_t offset) const { return at_ + offset < text_.size() ? text_[at_ + offset] : '\0'; }

  std::string_view text_, why_;
  size_t at_ = 0, line_begin_ = 0;
  uint32_t line_ = 1;
  TextProtoToken token_;
};

// The bytes that a token of kind kString stands for are put behind `out`; false: an escape that
// protobuf does not know.
bool AppendTextProtoString(std::string_view token, std::string& out);

}  // namespace hloscope::dump
