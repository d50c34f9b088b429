// Annotations as XLA writes them into names of events: "Thunk:#hlo_op=add.1,program_id=7#".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace hloscope::profiler {

// The value of `key` in an annotation `…#key=value,key=value#`; empty where it has none.
inline std::string_view AnnotationValue(std::string_view name, std::string_view key) {
  const size_t begin = name.find('#');
  if (begin == std::string_view::npos) return {};
  std::string_view pairs = name.substr(begin + 1);
  pairs = pairs.substr(0, pairs.find('#'));
  while (!pairs.empty()) {
    const size_t comma = std::min(pairs.find(','), pairs.size());
    const std::string_view pair = pairs.substr(0, comma);
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) {
      return pair.substr(key.size() + 1);
    }
    pairs.remove_prefix(std::min(comma + 1, pairs.size()));
  }
  return {};
}

// The whole number that the text is; -1 where it is none.
inline int64_t NumberIn(std::string_view text) {
  int64_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

}  // namespace hloscope::profiler
