// Lines for a terminal, from a format of ours and strings that others wrote.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "core/base/text.h"

namespace hloscope {

// A string whose line breaks and tabs are layout: lines made by FormatText, source text.
struct OwnLines {
  std::string_view text;
};

namespace internal {

// What FormatText prints for an argument. A `const char*` is a literal.
inline std::string_view EscapeArgument(OwnLines lines) { return lines.text; }
inline const char* EscapeArgument(const char* literal) { return literal; }
inline std::string EscapeArgument(std::string_view text) { return EscapeForTerminal(text); }
template <typename Number>
  requires std::is_arithmetic_v<Number>
Number EscapeArgument(Number number) {
  return number;
}

template <typename T>
using ShownAs = decltype(EscapeArgument(std::declval<const T&>()));

}  // namespace internal

// fmt::format whose string arguments cannot break the line or move the cursor: everything that
// EscapeForTerminal escapes is escaped in them, `\n` and `\t` as well.
template <typename... Args>
std::string FormatText(fmt::format_string<internal::ShownAs<Args>...> format, const Args&... args) {
  const std::tuple<internal::ShownAs<Args>...> shown(internal::EscapeArgument(args)...);
  return std::apply(
      [&](const auto&... values) {
        return fmt::vformat(fmt::string_view(format), fmt::make_format_args(values...));
      },
      shown);
}

// The elements with `separator` between them.
template <typename Range>
std::string Join(const Range& range, std::string_view separator) {
  return fmt::format("{}", fmt::join(range, separator));
}

}  // namespace hloscope
