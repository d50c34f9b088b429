// The line that protobuf puts before the text of a message that is printed for debugging.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/hlo/text/log_prefix.h"

namespace hloscope {

// Length of what stands before the first field of a text proto: a byte order mark, such a mark
// (`goo.gle/debugproto`, `goo.gle/debugstr`, `goo.gle/debugonly`) and the white space around it; 0
// if there is none.
inline size_t DebugMarkLength(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v", kMark = "goo.gle/debug";
  const size_t after = text.starts_with(hlo::kByteOrderMark) ? hlo::kByteOrderMark.size() : 0;
  const size_t begin = std::min(text.find_first_not_of(kSpace, after), text.size());
  if (!text.substr(begin).starts_with(kMark)) return after;
  const size_t end = text.find_first_of(kSpace, begin);
  return std::min(text.find_first_not_of(kSpace, end), text.size());
}

}  // namespace hloscope
