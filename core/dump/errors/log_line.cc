// Marks of absl's, TensorFlow's and Python's logs.
#include "core/dump/errors/log_line.h"

#include <algorithm>

#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: …"
bool IsException(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(": "));
  return name.size() < text.size() && !name.contains(' ') && name.ends_with("Error");
}

// Of "2026-01-02T03:04:05.678Z stderr F "; 0: there is none. P marks a part of a line.
size_t ContainerMarkLength(std::string_view line) {
  if (line.empty() || line[0] < '0' || line[0] > '9') return 0;
  const size_t time = std::min(line.find(' '), line.size());
  if (!line.substr(0, time).contains('T')) return 0;
  for (std::string_view mark : {" stdout F ", " stdout P ", " stderr F ", " stderr P "}) {
    if (line.substr(time).starts_with(mark)) return time + mark.size();
  }
  return 0;
}

}  // namespace

char LevelOf(std::string_view line) {
  line = TrimStart(line);
  constexpr std::string_view kLevels = "IWEF";
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (line.size() > 5 && kLevels.contains(line[0]) && line[5] == ' ' &&
      std::ranges::all_of(line.substr(1, 4), is_digit))
    return line[0];
  if (line.size() > 30 && is_digit(line[0]) && line[4] == '-') {
    const size_t at = line.substr(0, 41).find(": ");
    if (at != std::string_view::npos && at + 3 < line.size() && line[at + 3] == ' ' &&
        kLevels.contains(line[at + 2]))
      return line[at + 2];
  }
  // TensorFlow's TPUEstimator logs what ends a transfer as information.
  if (line.starts_with("INFO:tensorflow:Error recorded from ")) return 'E';
  if (line.starts_with("INFO:") || line.starts_with("DEBUG:")) return 'I';
  if (line.starts_with("WARNING:")) return 'W';
  return 0;
}

std::string_view WithoutLogPrefix(std::string_view line) {
  line.remove_prefix(ContainerMarkLength(line));
  if (line.starts_with(' ')) return line;
  for (std::string_view mark : {"]: ", "] ", ") "}) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = TrimStart(line.substr(at + mark.size()));
    if (rest.starts_with("File \"") || rest.starts_with("Traceback (most recent call last)") ||
        (LevelOf(line) == 'I' && (IsException(rest) || LevelOf(rest) != 0)))
      return rest;
  }
  return line;
}

}  // namespace hloscope::dump
