// TextCursor: a position in HLO text and the tokens XLA's lexer knows, read in place without
// allocation. Every reader of a piece of HLO text (shapes, literals, shardings, attributes) takes
// one, so that they can be combined freely.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/hlo/diagnostic.h"

namespace hloscope::hlo {

template <typename T>
using Parsed = std::expected<T, Diagnostic>;

class TextCursor {
 public:
  explicit TextCursor(std::string_view text)
      : begin_(text.data()), position_(text.data()), end_(text.data() + text.size()) {}

  uint64_t offset() const { return static_cast<uint64_t>(position_ - begin_); }
  const char* position() const { return position_; }
  void set_position(const char* position) { position_ = position; }
  const char* end() const { return end_; }
  std::string_view text() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }
  // The text from `start` (a position of this cursor) to here.
  std::string_view Since(const char* start) const {
    return {start, static_cast<size_t>(position_ - start)};
  }

  // Skips white space, // and /* */ comments. An unterminated comment stops at its start, where the
  // next token fails.
  void SkipSpace() {
    while (position_ != end_ && (IsSpace(*position_) || *position_ == '/')) {
      if (*position_ != '/') {
        ++position_;
      } else if (!SkipComment()) {
        return;
      }
    }
  }
  bool AtEnd() {
    SkipSpace();
    return position_ == end_;
  }
  // The next significant character; '\0' at the end.
  char Peek() {
    SkipSpace();
    return position_ == end_ ? '\0' : *position_;
  }
  // Takes `c` if it is the next significant character.
  bool Consume(char c) {
    if (Peek() != c || position_ == end_) return false;
    ++position_;
    return true;
  }
  // Takes punctuation of several characters ("->", "<=", "...").
  bool Consume(std::string_view punctuation);
  // Takes `word` if it is the next whole identifier.
  bool ConsumeWord(std::string_view word);
  // Takes `word` only if `=` follows immediately, and the `=` too.
  bool ConsumeAttributeName(std::string_view word);

  // [a-zA-Z_][a-zA-Z0-9_.-]*, empty if the next character does not begin one. XLA's lexer ends no
  // identifier at `-`, so "a->b" must be read by callers that expect `->` with ReadWord (no '-').
  std::string_view ReadIdentifier() {
    SkipSpace();
    const char* start = position_;
    if (start == end_ || !IsIdentifierStart(*start)) return {};
    while (position_ != end_ && IsIdentifierPart(*position_)) ++position_;
    return Since(start);
  }
  // [a-zA-Z_][a-zA-Z0-9_]*
  std::string_view ReadWord();
  // An instruction or computation name: an identifier with an optional leading `%` (not part of the
  // answer). After `%` a name may begin with a digit. A quoted name is not HLO.
  std::string_view ReadName() {
    SkipSpace();
    if (position_ != end_ && *position_ == '%') {
      ++position_;
      const char* start = position_;
      while (position_ != end_ && IsIdentifierPart(*position_)) ++position_;
      return Since(start);
    }
    return ReadIdentifier();
  }
  // A decimal int64 with optional `-`; nullopt (position kept) if there is none or it does not fit.
  std::optional<int64_t> ReadInt();
  // A quoted string, "…" or '…', escapes decoded (C escapes as absl::CUnescape); nullopt (position
  // kept) if malformed.
  std::optional<std::string> ReadString();
  // A string without decoding: the text between the quotes and whether it has escapes. Same
  // failures.
  struct RawString {
    std::string_view text;
    bool has_escapes;
  };
  std::optional<RawString> ReadRawString();
  // A balanced {…}, […] or (…) group including its brackets, strings inside respected; nullopt if
  // unbalanced.
  std::optional<std::string_view> ReadGroup();
  // A {…} dictionary: braces balanced outside double-quoted strings, anything else between them.
  std::optional<std::string_view> ReadJsonDict();
  // Everything up to the next `,` or closing bracket outside strings and groups: the value of an
  // unknown attribute.
  std::string_view ReadRawValue();

  // "expected …" at the current position.
  Diagnostic Expected(std::string_view what, std::string_view rule = "syntax");
  // A diagnostic at `offset`.
  static Diagnostic Fail(std::string_view rule, std::string message, uint64_t offset,
                         std::string hint = {}) {
    return {Severity::kError, std::string(rule), std::move(message), std::move(hint), offset};
  }

  static bool IsSpace(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
  }
  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static bool IsIdentifierStart(char c) { return (kClass[static_cast<uint8_t>(c)] & 1) != 0; }
  static bool IsIdentifierPart(char c) { return (kClass[static_cast<uint8_t>(c)] & 2) != 0; }
  // What ReadIdentifier would take whole.
  static bool IsIdentifier(std::string_view text) {
    return !text.empty() && IsIdentifierStart(text[0]) &&
           std::ranges::all_of(text, &TextCursor::IsIdentifierPart);
  }

 private:
  // Bit 0: begins an identifier; bit 1: continues one; bit 2: a bracket or a quote.
  static const uint8_t kClass[256];
  bool SkipComment();

  const char* begin_;
  const char* position_;
  const char* end_;
};

// True if the texts differ at most in the case of ASCII letters.
bool EqualIgnoringCase(std::string_view a, std::string_view b);

// True if the whole text is one dictionary; XLA prints such values without quotes.
bool IsJsonDict(std::string_view text);

// The decoded text of a raw string; nullopt for a malformed escape.
std::optional<std::string> Unescape(std::string_view raw);

}  // namespace hloscope::hlo
