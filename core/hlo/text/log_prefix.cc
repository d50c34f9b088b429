// Log prefixes, and what looks like HLO.
#include "core/hlo/text/log_prefix.h"

#include <algorithm>

#include "core/hlo/element_type.h"
#include "core/hlo/opcode.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {
namespace {

// Matches `pattern` at `at`: d is a digit, _ one or more spaces, + one or more digits, others
// themselves.
bool Match(std::string_view line, size_t& at, std::string_view pattern) {
  auto digit = [&] { return at < line.size() && TextCursor::IsDigit(line[at]); };
  for (char p : pattern) {
    size_t start = at;
    if (p == 'd') {
      if (!digit()) return false;
      ++at;
    } else if (p == '+') {
      while (digit()) ++at;
      if (at == start) return false;
    } else if (p == '_') {
      while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
      if (at == start) return false;
    } else {
      if (at >= line.size() || line[at] != p) return false;
      ++at;
    }
  }
  return true;
}

template <typename F>
void ForEachLine(std::string_view text, size_t limit, F visit) {
  size_t start = 0;
  for (size_t n = 0; n < limit && start < text.size(); ++n) {
    size_t end = std::min(text.find('\n', start), text.size());
    if (!visit(start, text.substr(start, end - start))) return;
    start = end + 1;
  }
}

}  // namespace

size_t LogPrefixLength(std::string_view line) {
  const auto is_severity = [&](size_t k) {
    return k < line.size() && std::string_view("IWEF").find(line[k]) != std::string_view::npos;
  };
  if (line.empty()) return 0;
  size_t at = 1;
  if (is_severity(0)) {
    if (!Match(line, at, "dddd_+:+:+.+_+_")) return 0;
  } else {
    at = 0;
    if (!Match(line, at, "dddd-dd-dd_dd:dd:dd.+:_") || !is_severity(at)) return 0;
    if (!Match(line, ++at, "_")) return 0;
    size_t thread = at;  // not in all versions
    if (Match(line, thread, "+_")) at = thread;
  }
  size_t colon = line.find(':', at);
  if (colon == std::string_view::npos || colon == at) return 0;
  at = colon + 1;
  if (!Match(line, at, "+]")) return 0;
  return at;
}

std::optional<std::string> BlankLogPrefixes(std::string_view text) {
  constexpr size_t kFirstLines = 64;
  bool found = false;
  ForEachLine(text, kFirstLines, [&](size_t, std::string_view line) {
    found = LogPrefixLength(line) > 0;
    return !found;
  });
  if (!found) return std::nullopt;
  std::string clean(text);
  ForEachLine(text, text.size(), [&](size_t start, std::string_view line) {
    std::fill_n(clean.begin() + static_cast<std::ptrdiff_t>(start), LogPrefixLength(line), ' ');
    return true;
  });
  return clean;
}

bool LooksLikeHloText(std::string_view bytes) {
  constexpr size_t kEnough = 1 << 16;
  std::string_view head = bytes.substr(0, kEnough);
  std::optional<std::string> clean = BlankLogPrefixes(head);
  TextCursor cursor(clean ? std::string_view(*clean) : head);
  cursor.Consume(kByteOrderMark);
  cursor.ConsumeWord("ROOT");
  if (cursor.ConsumeWord("HloModule") || cursor.ConsumeWord("ENTRY")) {
    return !cursor.ReadName().empty();
  }
  std::string_view name = cursor.ReadName();
  bool shape = ElementTypeFromText(name) != ElementType::kInvalid && cursor.Peek() == '[';
  if (!name.empty() && !shape) {
    if (cursor.Peek() == '{') return cursor.Consume('{') && !cursor.ReadName().empty();
    if (cursor.Peek() == '(') return cursor.ReadGroup() && cursor.Consume("->");
    if (!cursor.Consume('=')) return false;
    name = cursor.ReadIdentifier();
  }
  // What follows must be an opcode, behind a shape or not.
  if (cursor.Peek() == '[' || (name.empty() && cursor.Peek() == '(')) {
    while (cursor.ReadGroup()) {
    }
    name = cursor.ReadIdentifier();
  }
  for (std::string_view suffix : {"-start", "-update", "-done"}) {
    if (!OpcodeFromText(name) && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return OpcodeFromText(name).has_value() && cursor.Peek() == '(';
}

}  // namespace hloscope::hlo
