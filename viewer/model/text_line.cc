// Names on lines of HLO text and of buffer assignments.
#include "viewer/model/text_line.h"

#include <algorithm>

namespace hloscope::viewer {
namespace {

// "  ROOT %add.3 = f32[] add(…)" is about add.3.
std::string_view DefinedName(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  if (line.starts_with('%')) line.remove_prefix(1);
  size_t end = line.find_first_of(" \t=({,");
  if (end == std::string_view::npos || end == 0 || !line.substr(end).starts_with(" = ")) return {};
  return line.substr(0, end);
}

// " value: <12 fusion.3 @0> (size=4,offset=0): f32[]" is about fusion.3, with or without an index.
std::string_view BufferName(std::string_view line) {
  size_t open = line.find('<');
  size_t blank = open == std::string_view::npos ? open : line.find(' ', open);
  if (blank == std::string_view::npos) return {};
  std::string_view name = line.substr(blank + 1);
  return name.substr(0, name.find_first_of(" {>@"));
}

}  // namespace

std::string_view LineOf(std::string_view text, int32_t number) {
  for (int32_t line = 1; line < number; ++line) {
    size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view NameOnLine(std::string_view line, dump::FileKind kind) {
  return kind == dump::FileKind::kBufferAssignment ? BufferName(line) : DefinedName(line);
}

}  // namespace hloscope::viewer
