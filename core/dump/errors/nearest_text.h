// NearestText: of a text in which no error is known, what was read and which known text is nearest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope::dump {

struct NearestText {
  std::string line;         // that looks most like an error; empty: the text has none
  int32_t at_line = 0;      // from 1
  std::string kind, known;  // of the table; empty: none is near
  // Lines of level I, and beside them those that hold numbers (tf.print, print); 0 where
  // the text has other lines.
  int64_t informational = 0, plain = 0;
};
NearestText FindNearestText(std::string_view text);

}  // namespace hloscope::dump
