// Rows are found by the first bytes of what their matches begin with.
#include "core/dump/errors/error_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/dump/errors/log_line.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kKeyLength = 4;
constexpr size_t kMaxAround = 300;    // bytes of a line that are looked at on a side of a place
constexpr uint32_t kMaxPlaces = 100;  // of a row in a line

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

// "INTERNAL: ", the name of a status of absl, which other texts may use for something else.
bool IsStatus(std::string_view first) {
  const std::string_view name = first.substr(0, first.find(':'));
  return name.size() < first.size() &&
         std::ranges::all_of(name, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

// Without the escapes that colour a text: ESC [ 1 ; 31 m.
std::string WithoutColours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    text.remove_prefix(escape);
    if (text.empty()) break;
    const size_t end = std::min(text.find_first_not_of("0123456789;", 2), text.size());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return plain;
}

// `{"textPayload":"`, the value of a log in JSON; not where the log says that it only informs.
bool IsJsonValue(std::string_view before) {
  if (!before.ends_with('"')) return false;
  before = Trim(before.substr(0, before.size() - 1));
  constexpr std::string_view kInforms[] = {"\"info\"", "\"INFO\"", "\"debug\"", "\"DEBUG\""};
  const auto holds = [&](std::string_view word) { return before.contains(word); };
  return before.ends_with("\":") && std::ranges::none_of(kInforms, holds);
}

// What stands before line[at]; of a long text only the first and the last bytes, so that many
// places in a line are linear work.
std::string Before(std::string_view line, size_t at) {
  if (at <= 2 * kMaxAround) return std::string(line.substr(0, at));
  return fmt::format("{}\n{}", line.substr(0, kMaxAround),
                     line.substr(at - kMaxAround, kMaxAround));
}

// `Status: INTERNAL: …` alone is a status where the line before it says that one is not OK, as
// TF_CHECK_OK writes it.
bool IsStatusOfCheck(std::string_view before, std::string_view text_before) {
  if (Trim(before) != "Status:") return false;
  if (!text_before.empty()) text_before.remove_suffix(1);  // the line's end
  const std::string_view previous = text_before.substr(text_before.rfind('\n') + 1);
  return previous.contains("Non-OK-status");
}

// What stands before a status where it is one: nothing, a mark of a log, the name of an exception,
// "… failed: "; not "users " of "users NOT_FOUND: 3", nor "test status: " of "test status:
// ABORTED:".
bool MayPrecedeStatus(std::string_view marked) {
  const std::string plain = WithoutColours(marked);
  std::string_view before = plain;
  if (LevelOf(before) != 0) return LevelOf(before) != 'I';
  before = Trim(before);
  const auto holds = [&](std::string_view word) { return before.contains(word); };
  const auto ends = [&](std::string_view word) { return before.ends_with(word); };
  constexpr std::string_view kNames[] = {"Error", "ERROR", "Exception", "Profiling failure on "};
  constexpr std::string_view kEnds[] = {
      "error:", "failed:", "failure:", "what():", "[error]", "with status:", "Caused by:"};
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (!before.empty() && is_letter(before.back())) return false;  // a word of a sentence
  if (std::ranges::any_of(kNames, holds) || std::ranges::any_of(kEnds, ends)) return true;
  if (IsJsonValue(before)) return true;
  const size_t mark_end = before.find_last_of("|])") + 1;  // "worker-1  | ", "(pid=7) "
  return std::ranges::none_of(before.substr(mark_end), is_letter);
}

// "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory": a row that knows the name of a code alone.
bool IsCodeName(std::string_view pattern) {
  pattern = pattern.substr(0, pattern.find("{=status}"));  // "CUDNN_STATUS_{=status}"
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::ranges::all_of(pattern, is_name) &&
         (pattern.contains("_ERROR_") || pattern.contains("_STATUS_") ||
          pattern.starts_with("hipError") || pattern.starts_with("CUFFT_"));
}

// Whether a line reports the code at line[at], not only speaks of it as "lower the batch on
// CUDA_ERROR_OUT_OF_MEMORY" does.
bool ReportsCode(std::string_view line, size_t at) {
  constexpr std::string_view kName =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const std::string before = Before(line, at);
  std::string_view behind = line.substr(at, kMaxAround);
  behind.remove_prefix(std::min(behind.find_first_not_of(kName), behind.size()));
  const char level = LevelOf(line.substr(0, kMaxAround));
  if (level == 'E' || level == 'F' || behind.starts_with(": ")) return true;
  if (Trim(before).empty()) return Trim(behind).empty();
  constexpr std::string_view kMarks[] = {
      "ailed", "ailure", "rror: ", "ERROR: ", "Exception", "returned ", "status ", "terminate"};
  const auto holds = [&](std::string_view mark) { return before.contains(mark); };
  return std::ranges::any_of(kMarks, holds) || before.ends_with(": ");
}

// How a process ended stands alone in its line, behind a mark of a log or of the shell ("run.sh:
// line 3: 71 Segmentation fault"); a text that speaks of it goes on in words.
bool StandsAsEnd(std::string_view before, std::string_view behind) {
  before = Trim(before);
  behind = Trim(behind);
  constexpr std::string_view kGoesOn = "=,;`'\"";
  if (!behind.empty() && kGoesOn.contains(behind.front())) return false;
  const size_t mark_end = before.find_last_of(":]|") + 1;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return std::ranges::none_of(before.substr(mark_end), is_letter) && !before.ends_with('`') &&
         !before.ends_with('"');
}

}  // namespace

const std::vector<ErrorRow>& ErrorRows() {
  static const std::vector<ErrorRow> rows = {
#define ERROR_TEXT(kind, pattern, reason, fix) \
  {kind, ErrorPattern(pattern), reason, fix, pattern, false},
  // clang-format off: the order counts
#include "core/dump/errors/library_texts.def"
#include "core/dump/errors/xla_texts.def"
#include "core/dump/errors/error_texts.def"
#include "core/dump/errors/jax_texts.def"
#include "core/dump/errors/framework_texts.def"
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
  std::unordered_map<uint32_t, uint32_t> places;  // by row
  for (size_t at = 0; at + kKeyLength <= line.size(); ++at) {
    const auto rows = RowsByKey().find(line.substr(at, kKeyLength));
    if (rows == RowsByKey().end()) continue;
    for (const uint32_t row : rows->second) {
      if (line.substr(at).starts_with(ErrorRows()[row].pattern.first()) &&
          ++places[row] <= kMaxPlaces)
        candidates.push_back({row, at});
    }
  }
  std::ranges::sort(candidates);
  const size_t begin = static_cast<size_t>(line.data() - text.data());
  for (const Candidate& candidate : candidates) {
    const ErrorRow& row = ErrorRows()[candidate.row];
    const size_t end = candidate.at + row.pattern.first().size();
    if (row.is_general && IsStatus(row.pattern.first())) {
      const std::string before = Before(line, candidate.at);
      if (!MayPrecedeStatus(before) && !IsStatusOfCheck(before, text.substr(0, begin))) continue;
    }
    if (row.kind == "crash" &&
        !StandsAsEnd(Before(line, candidate.at), line.substr(end, kMaxAround)))
      continue;
    if (IsCodeName(row.text) && !ReportsCode(line, candidate.at)) continue;
    if (auto captures = row.pattern.Match(text.substr(begin + candidate.at)))
      return FoundError{&row, *std::move(captures)};
  }
  return std::nullopt;
}

}  // namespace hloscope::dump
