// Characters are read back from the SVG of the frame, which holds what the draw lists hold.
#include "tests/viewer/screen_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "viewer/frame/svg.h"

namespace hloscope::viewer {
namespace {

float NumberAfter(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  float value = 0;
  if (at != std::string_view::npos)
    std::from_chars(line.data() + at + key.size(), line.data() + line.size(), value);
  return value;
}

std::string Unescaped(std::string_view text) {
  if (text == "&lt;") return "<";
  if (text == "&gt;") return ">";
  if (text == "&amp;") return "&";
  if (text == "&quot;") return "\"";
  return std::string(text == "&#39;" ? "'" : text);
}

std::string WithoutBlanks(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

}  // namespace

std::vector<SeenCharacter> CharactersIn(float x, float y, float width, float height) {
  std::vector<SeenCharacter> seen;
  const Result<std::string> svg = SvgOfFrame(x, y, width, height, 0);
  if (!svg) {
    ADD_FAILURE() << svg.error().ToString();
    return seen;
  }
  std::string_view rest = *svg;
  constexpr std::string_view kStart = "<text ", kEnd = "</text>";
  for (size_t at = rest.find(kStart); at != std::string_view::npos; at = rest.find(kStart)) {
    rest.remove_prefix(at);
    const size_t end = rest.find(kEnd);
    const std::string_view line = rest.substr(0, end);
    seen.push_back({.x = NumberAfter(line, "x=\""),
                    .y = NumberAfter(line, " y=\""),
                    .text = Unescaped(line.substr(line.find('>') + 1)),
                    .is_code = line.find("JetBrains") != std::string_view::npos});
    rest.remove_prefix(end);
  }
  // Base lines of one line of text differ by parts of a pixel.
  std::ranges::stable_sort(seen, {}, &SeenCharacter::y);
  float line = -1e9f;
  for (SeenCharacter& c : seen) {
    if (c.y - line >= 1.5f) line = c.y;
    c.y = line;
  }
  std::ranges::stable_sort(seen, {}, [](const SeenCharacter& c) { return std::pair(c.y, c.x); });
  return seen;
}

std::optional<SeenAt> FindSeen(const std::vector<SeenCharacter>& seen, std::string_view text) {
  const std::string wanted = WithoutBlanks(text);
  for (size_t i = 0; i < seen.size(); ++i) {
    size_t k = i, matched = 0;
    while (k < seen.size() && matched < wanted.size() && std::abs(seen[k].y - seen[i].y) < 2 &&
           wanted.compare(matched, seen[k].text.size(), seen[k].text) == 0) {
      matched += seen[k++].text.size();
    }
    if (matched == wanted.size() && k > i)
      return SeenAt{(seen[i].x + seen[k - 1].x) / 2 + 3, seen[i].y - 4, seen[i].x};
  }
  return std::nullopt;
}

std::string SeenLines(const std::vector<SeenCharacter>& seen) {
  std::string out;
  float y = -1e9f;
  for (const SeenCharacter& c : seen) {
    if (std::abs(c.y - y) >= 2) out += '\n';
    y = c.y;
    out += c.text;
  }
  return out;
}

}  // namespace hloscope::viewer
