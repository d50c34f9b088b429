// Text made safe for where it is shown: terminal, HTML, JSON; and numbers as their shortest text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope {

// The first character of a text: its code point and length in bytes. `length` is 0 where the bytes
// are not valid UTF-8 (too long forms, surrogates, beyond U+10FFFF or cut off) or the text is
// empty.
struct Utf8Character {
  uint32_t code = 0;
  size_t length = 0;
};
Utf8Character DecodeUtf8(std::string_view text);

// The code point as UTF-8; U+FFFD for a surrogate or a value beyond U+10FFFF.
std::string EncodeUtf8(uint32_t code);

bool IsUtf8(std::string_view text);

// `text` with every byte that is not part of valid UTF-8 written as `\xNN`: always valid UTF-8.
std::string RepairUtf8(std::string_view text);

enum class LineBreaks { kEscape, kKeep };

// `text` with everything that could move the cursor, change colours or reorder what is read written
// as `\xNN` or
// `\u{NNNN}`: C0, DEL, C1, direction marks and overrides, invisible separators, invalid UTF-8.
// kKeep leaves `\n` and `\t`.
std::string EscapeForTerminal(std::string_view text, LineBreaks breaks = LineBreaks::kEscape);

// `text` for an HTML element or a quoted attribute: & < > " ' ` as references, control characters
// (but `\n` and `\t`), direction overrides and invalid bytes as U+FFFD.
std::string EscapeHtml(std::string_view text);

// The shortest decimal text that reads back as the same number: "0.1", "1e+30", "-0"; "nan", "inf",
// "-inf".
std::string ShortestText(double value);
std::string ShortestText(float value);

}  // namespace hloscope
