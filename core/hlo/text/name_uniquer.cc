// Unique names by root and number.
#include "core/hlo/text/name_uniquer.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/hlo/element_type.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

struct NameParts {
  std::string_view root;
  std::optional<int64_t> number;
};

// A name is its root and a number where the text behind its last dot is one.
NameParts Split(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return {name, {}};
  int64_t number = 0;
  const char* end = name.data() + name.size();
  auto [after, error] = std::from_chars(name.data() + dot + 1, end, number);
  if (error != std::errc() || after != end) return {name, {}};
  return {name.substr(0, dot), number};
}

}  // namespace

std::string NameUniquer::Unique(std::string_view name) {
  NameParts parts = Split(name);
  std::string root(parts.root);
  Numbers& numbers = roots_[root];
  int64_t number = parts.number.value_or(0);
  if (!numbers.used.insert(number).second) {
    while (!numbers.used.insert(numbers.next).second) ++numbers.next;
    number = numbers.next++;
  }
  if (number == 0 && !parts.number) return root;
  return root + "." + std::to_string(number);
}

NameUniquer::Suffix NameUniquer::SuffixOf(std::string_view name) {
  size_t first = name.size();
  while (first > 0 && TextCursor::IsDigit(name[first - 1])) --first;
  if (first < 2 || first == name.size() || name[first] != '0') return Suffix::kPlain;
  bool negative = name[first - 1] == '-' && name[first - 2] == '.';
  if (name[first - 1] != '.' && !negative) return Suffix::kPlain;
  return first + 1 == name.size() && !negative ? Suffix::kZero : Suffix::kOdd;
}

namespace {

// Types are words of HLO text; `tuple` and `buffer` may be names too.
bool IsTypeName(std::string_view name) {
  const ElementType type = ElementTypeFromText(name);
  return type != ElementType::kInvalid && type != ElementType::kTuple &&
         type != ElementType::kBuffer;
}

bool IsReserved(std::string_view name) {
  return name.starts_with("__") && !name.starts_with("__xla_");
}

}  // namespace

bool NeedsSanitizing(std::string_view name) {
  if (name.empty() || !TextCursor::IsIdentifierStart(name[0])) return true;
  return !std::ranges::all_of(name, TextCursor::IsIdentifierPart) || IsTypeName(name) ||
         IsReserved(name);
}

std::string SanitizedName(std::string_view name) {
  std::string result(name);
  for (size_t i = 0; i < result.size(); ++i) {
    bool allowed =
        i == 0 ? TextCursor::IsIdentifierStart(result[i]) : TextCursor::IsIdentifierPart(result[i]);
    if (!allowed) result[i] = '_';
  }
  if (IsTypeName(result)) result += '_';
  if (IsReserved(result)) result[0] = 'a';
  return result;
}

}  // namespace hloscope::hlo
