// Characters are read back from the SVG of the frame, which holds what the draw lists hold.
#include "tests/viewer/screen_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

// Where a path of triangles lies, where they fill a box of a window's size and hide what is behind.
struct Cover {
  float left = 1e9F, top = 1e9F, right = -1e9F, bottom = -1e9F;
  bool Holds(const SeenCharacter& c) const {
    return left <= c.x && c.x <= right && top <= c.y && c.y <= bottom;
  }
};
std::optional<Cover> CoverOf(std::string_view path) {
  constexpr double kSmallest = 200.0 * 200.0;
  Cover box;
  double filled = 0;
  std::array<std::array<float, 2>, 3> corners;
  size_t corner = 0;
  if (path.find("fill-opacity=\"1.00\"") == std::string_view::npos) return std::nullopt;
  for (size_t at = path.find("d=\"") + 3; at < path.size() && path[at] != '"';) {
    if (path[at] == 'Z') corner = 0;
    if (path[at] != 'M' && path[at] != 'L') {
      ++at;
      continue;
    }
    auto& [x, y] = corners[corner];
    const char* end = path.data() + path.size();
    const char* next = std::from_chars(path.data() + at + 1, end, x).ptr;
    next = std::from_chars(next + 1, end, y).ptr;
    at = static_cast<size_t>(next - path.data());
    box.left = std::min(box.left, x), box.right = std::max(box.right, x);
    box.top = std::min(box.top, y), box.bottom = std::max(box.bottom, y);
    if (++corner < 3) continue;
    const auto& [a, b, c] = corners;
    filled += std::abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;
    corner = 0;
  }
  const double area = (box.right - box.left) * (box.bottom - box.top);
  if (area < kSmallest || filled < 0.97 * area) return std::nullopt;
  return box;
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
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (const auto cover = line.starts_with("<path ") ? CoverOf(line) : std::nullopt) {
      std::erase_if(seen, [&](const SeenCharacter& c) { return cover->Holds(c); });
    }
    if (!line.starts_with("<text ")) continue;
    line.remove_suffix(std::string_view("</text>").size());
    seen.push_back({.x = NumberAfter(line, "x=\""),
                    .y = NumberAfter(line, " y=\""),
                    .text = Unescaped(line.substr(line.find('>') + 1)),
                    .is_code = line.find("JetBrains") != std::string_view::npos});
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
