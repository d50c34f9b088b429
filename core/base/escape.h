// Untrusted text as each format takes it: one escaper each. JSON: JsonWriter (json.h); terminals,
// HTML and SVG: text.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text.h"

namespace hloscope {

/// Whether a character could move a cursor, or is invisible or reorders what is read: C0, DEL, C1,
/// direction marks and overrides, invisible separators.
bool IsUnsafeCharacter(uint32_t code);

/// A cell of a CSV table (RFC 4180), in quotes always or where it has to be. Unsafe characters as
/// EscapeForTerminal writes them; `'` precedes what a spreadsheet would take for a formula; numbers
/// stay.
enum class CsvQuotes : uint8_t { kWhereNeeded, kAlways };
void AppendCsvCell(std::string& out, std::string_view text,
                   CsvQuotes quotes = CsvQuotes::kWhereNeeded);
inline std::string CsvCell(std::string_view text) {
  std::string cell;
  AppendCsvCell(cell, text, CsvQuotes::kAlways);
  return cell;
}

/// Text of a Markdown paragraph or cell of a table: nothing in it is markup, a line, or a mention.
std::string EscapeMarkdown(std::string_view text);

/// A string of Graphviz, with its quotes; line breaks as \n.
std::string DotString(std::string_view text);

/// "'a b'" where the shell would take `argument` apart.
inline std::string Quoted(const std::string& argument) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,@%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace hloscope
