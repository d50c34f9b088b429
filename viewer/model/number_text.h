// Number texts: bytes, counts and times as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace hloscope::viewer {

// "1.2 GB", "34 kB": three digits at most; negative: "?".
std::string BytesText(int64_t bytes);
// "120k": three digits at most, for columns; the whole belongs into a tooltip.
std::string ShortCountText(int64_t count);
// "120,345".
std::string CountText(int64_t count);
// "1.25 ms".
std::string NanosecondsText(double nanoseconds);

}  // namespace hloscope::viewer
