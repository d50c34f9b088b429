// What a reader sees: the characters of the last frame, and where they stand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::viewer {

struct SeenCharacter {
  float x = 0, y = 0;    // of the pen, pixels
  std::string text;      // one character
  bool is_code = false;  // in the font whose characters are all as wide
};

// Characters in a rectangle of pixels, line by line, left to right; blanks are not among them.
std::vector<SeenCharacter> CharactersIn(float x, float y, float width, float height);

// Where a text stands, whatever the blanks. The first where there are several.
struct SeenAt {
  float x = 0, y = 0;  // its middle
  float begin = 0;     // its left end
};
std::optional<SeenAt> FindSeen(const std::vector<SeenCharacter>& seen, std::string_view text);

// The lines of it, without blanks.
std::string SeenLines(const std::vector<SeenCharacter>& seen);

}  // namespace hloscope::viewer
