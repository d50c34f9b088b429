// Word diff: what two lines have in common, word by word.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hloscope::viewer {

struct WordPiece {
  std::string_view text;
  bool changed = false;  // not in the other line
};
struct WordDiff {
  std::vector<WordPiece> before, after;  // together the lines
};

// A longest common subsequence of their words; of lines with more than 600 words the common ends
// only.
WordDiff DiffWords(std::string_view before, std::string_view after);

}  // namespace hloscope::viewer
