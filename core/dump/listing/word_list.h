// Lists of words in the columns of tables: "one two three".
#pragma once

#include <algorithm>
#include <string_view>

namespace hloscope::dump {

// Whether `fits` holds for a word of the list.
template <typename Fits>
bool AnyWord(std::string_view list, Fits fits) {
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    if (fits(list.substr(0, end))) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

inline bool ListHolds(std::string_view list, std::string_view word) {
  return AnyWord(list, [&](std::string_view one) { return one == word; });
}

}  // namespace hloscope::dump
