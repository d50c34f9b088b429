// Number texts: bytes, counts and times as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/count_text.h"

namespace hloscope::viewer {

// "1.2 GB", "34 kB": three digits at most; negative: "?".
std::string BytesText(int64_t bytes);
// "120k": three digits at most, for columns; the whole belongs into a tooltip.
std::string ShortCountText(int64_t count);
using graph::CountedText;
using graph::CountText;  // "120,345"
// "1.25 GFLOP": three digits, prefixes of powers of 1,000.
std::string SiText(double value, std::string_view unit);
// "1.25 ms".
std::string NanosecondsText(double nanoseconds);

// "1.25e-07", "inf", "NaN": an error in a table; empty where nothing differs, so that what does is
// seen.
std::string ErrorText(double error);
// "12"; "far" for what no one counts; empty where nothing differs.
std::string UlpText(uint64_t ulp);
// "1,234"; empty for none.
std::string SomeText(int64_t count);

}  // namespace hloscope::viewer
