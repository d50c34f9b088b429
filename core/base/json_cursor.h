// JsonCursor: walks over JSON text token by token, without a tree and without recursion.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hloscope {

class JsonCursor {
 public:
  // `nesting` is how deep values that are skipped may be.
  JsonCursor(std::string_view text, int64_t nesting, size_t position = 0)
      : text_(text), position_(position), nesting_(nesting) {}

  // The offset of the next token.
  size_t position() {
    SkipSpace();
    return position_;
  }
  bool AtEnd() { return position() == text_.size(); }
  // The first character of the next token; 0 at the end.
  char Peek() { return AtEnd() ? '\0' : text_[position_]; }
  // Steps over the token if it is this bracket, comma or colon.
  bool Consume(char c) {
    if (Peek() != c) return false;
    ++position_;
    return true;
  }

  // A string without its quotes, as it is written (UnescapeJson makes text of it); nullopt if the
  // next token is none.
  std::optional<std::string_view> ReadRawString();
  // A number, true, false or null as it is written; nullopt if the next token is none.
  std::optional<std::string_view> ReadWord();
  // Steps over a whole value and returns its text; nullopt if it is malformed or too deep.
  std::optional<std::string_view> SkipValue();

  // Goes to the next member of an object whose `{` was consumed; its key, or nullopt behind `}` and
  // where the text is malformed (then failed()). `is_first` is true for the first call and set to
  // false.
  std::optional<std::string_view> NextKey(bool& is_first);
  bool failed() const { return failed_; }

 private:
  void SkipSpace() {
    while (position_ < text_.size() && IsSpace(text_[position_])) ++position_;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  std::string_view text_;
  size_t position_;
  int64_t nesting_;
  bool failed_ = false;
};

// The text of a JSON string as it is written between its quotes; malformed escapes stay as they
// are.
std::string UnescapeJson(std::string_view raw);

}  // namespace hloscope
