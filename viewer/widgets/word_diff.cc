// The textbook table of longest common subsequences, on words, between the common ends.
#include "viewer/widgets/word_diff.h"

#include <algorithm>
#include <cstddef>

namespace hloscope::viewer {
namespace {

bool IsOfWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || static_cast<signed char>(c) < 0;
}

std::vector<std::string_view> WordsOf(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (IsOfWord(text[i]) && end < text.size() && IsOfWord(text[end])) ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

void Append(std::vector<WordPiece>& pieces, std::string_view word, bool changed) {
  if (!pieces.empty() && pieces.back().changed == changed) {
    std::string_view last = pieces.back().text;
    pieces.back().text = std::string_view(last.data(), last.size() + word.size());
  } else {
    pieces.push_back({word, changed});
  }
}

}  // namespace

WordDiff DiffWords(std::string_view before, std::string_view after) {
  std::vector<std::string_view> a = WordsOf(before), b = WordsOf(after);
  size_t head = 0, tail = 0, shorter = std::min(a.size(), b.size());
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  size_t n = a.size() - head - tail, m = b.size() - head - tail;
  constexpr size_t kMax = 600;
  bool table = n <= kMax && m <= kMax;
  std::vector<uint16_t> common;
  auto at = [&](size_t i, size_t j) -> uint16_t& { return common[i * (m + 1) + j]; };
  if (table) {
    common.assign((n + 1) * (m + 1), 0);
    for (size_t i = n; i-- > 0;) {
      for (size_t j = m; j-- > 0;) {
        at(i, j) = a[head + i] == b[head + j] ? static_cast<uint16_t>(at(i + 1, j + 1) + 1)
                                              : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  WordDiff out;
  for (size_t i = 0; i < head; ++i) {
    Append(out.before, a[i], false);
    Append(out.after, b[i], false);
  }
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    if (table && i < n && j < m && a[head + i] == b[head + j]) {
      Append(out.before, a[head + i++], false);
      Append(out.after, b[head + j++], false);
    } else if (i < n && (!table || j == m || at(i + 1, j) >= at(i, j + 1))) {
      Append(out.before, a[head + i++], true);
    } else {
      Append(out.after, b[head + j++], true);
    }
  }
  for (size_t k = 0; k < tail; ++k) {
    Append(out.before, a[head + n + k], false);
    Append(out.after, b[head + m + k], false);
  }
  return out;
}

}  // namespace hloscope::viewer
