// Rows are found by the first bytes of what their matches begin with.
#include "core/dump/errors/error_table.h"

#include <algorithm>
#include <unordered_map>

namespace hloscope::dump {
namespace {

constexpr size_t kKeyLength = 4;

struct Candidate {
  uint32_t row;
  size_t at;  // in the line
  auto operator<=>(const Candidate&) const = default;
};

const std::unordered_map<std::string_view, std::vector<uint32_t>>& RowsByKey() {
  static const auto rows = [] {
    std::unordered_map<std::string_view, std::vector<uint32_t>> by_key;
    for (uint32_t k = 0; k < ErrorRows().size(); ++k)
      by_key[ErrorRows()[k].pattern.first().substr(0, kKeyLength)].push_back(k);
    return by_key;
  }();
  return rows;
}

}  // namespace

const std::vector<ErrorRow>& ErrorRows() {
  static const std::vector<ErrorRow> rows = {
#define ERROR_TEXT(kind, pattern, reason, fix) \
  {kind, ErrorPattern(pattern), reason, fix, pattern, false},
  // clang-format off: the order counts
#include "core/dump/errors/xla_texts.def"
#include "core/dump/errors/error_texts.def"
#undef ERROR_TEXT
#define ERROR_TEXT(kind, pattern, reason, fix) \
  {kind, ErrorPattern(pattern), reason, fix, pattern, true},
#include "core/dump/errors/status_texts.def"
// clang-format on
#undef ERROR_TEXT
  };
  return rows;
}

std::optional<FoundError> FindError(std::string_view text, std::string_view line) {
  std::vector<Candidate> candidates;
  for (size_t at = 0; at + kKeyLength <= line.size(); ++at) {
    const auto rows = RowsByKey().find(line.substr(at, kKeyLength));
    if (rows == RowsByKey().end()) continue;
    for (const uint32_t row : rows->second) {
      if (line.substr(at).starts_with(ErrorRows()[row].pattern.first()))
        candidates.push_back({row, at});
    }
  }
  std::ranges::sort(candidates);
  const size_t begin = static_cast<size_t>(line.data() - text.data());
  for (const Candidate& candidate : candidates) {
    const ErrorRow& row = ErrorRows()[candidate.row];
    if (auto captures = row.pattern.Match(text.substr(begin + candidate.at)))
      return FoundError{&row, *std::move(captures)};
  }
  return std::nullopt;
}

}  // namespace hloscope::dump
