// The tables of error texts, and which row fits a line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dump/errors/error_pattern.h"

namespace hloscope::dump {

struct ErrorRow {
  std::string_view kind;
  ErrorPattern pattern;
  std::string_view reason, fix;
  std::string_view text;  // the pattern as the table writes it
  bool is_general;        // knows a status only, "INTERNAL: {what}"
};

// In the order in which they count: XLA's own, those of frameworks, those that know a status only.
const std::vector<ErrorRow>& ErrorRows();

struct FoundError {
  const ErrorRow* row;
  Captures captures;
};
// The first row that fits the line, which is a part of the text. Where the first bytes of a row
// stand more than 100 times in the line, the first 100 places are looked at.
std::optional<FoundError> FindError(std::string_view text, std::string_view line);

}  // namespace hloscope::dump
