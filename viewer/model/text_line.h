// What a line of a dump's text is about.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/dump/listing/sniff.h"

namespace hloscope::viewer {

// The line of that number (counts from 1), without its break; empty beyond the end.
std::string_view LineOf(std::string_view text, int32_t number);

// The instruction that a line of HLO text defines, or that a line of a buffer assignment names;
// empty where it does neither.
std::string_view NameOnLine(std::string_view line, dump::FileKind kind);

}  // namespace hloscope::viewer
