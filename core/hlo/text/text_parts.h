// Pieces that the readers of shapes, literals and shardings share.
#pragma once

#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/hlo/shape.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

// "more operands than the limit of 1".
inline std::string OverLimitText(std::string_view what, int64_t limit) {
  return "more " + std::string(what) + " than the limit of " + std::to_string(limit);
}

inline Diagnostic OverLimit(const TextCursor& cursor, std::string_view what, int64_t limit,
                            std::string_view name) {
  return TextCursor::Fail("limit", OverLimitText(what, limit), cursor.offset(),
                          "raise it with --limit " + std::string(name) + "=N");
}

// An integer, or a diagnostic "expected <what>".
inline Parsed<int64_t> ReadNumber(TextCursor& cursor, std::string_view what,
                                  std::string_view rule) {
  std::optional<int64_t> value = cursor.ReadInt();
  if (!value) return std::unexpected(cursor.Expected(what, rule));
  return *value;
}

// Takes `c`, or a diagnostic "expected <what>".
inline Parsed<void> Require(TextCursor& cursor, char c, std::string_view what,
                            std::string_view rule) {
  if (cursor.Consume(c)) return {};
  return std::unexpected(cursor.Expected(what, rule));
}

// Whether a layout may have P(…): where it may not, reading one cannot nest.
enum class PhysicalShape { kAllowed, kRefused };
Parsed<Layout> ReadLayout(TextCursor& cursor, PhysicalShape physical, const Limits& limits);

}  // namespace hloscope::hlo
