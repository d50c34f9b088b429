// Log lines in HLO text: dumps copied out of a log carry `I0521 12:04:45.883483 1509 file.cc:186]
// `, `I0000 00:00:1795667464.650349 27410 file.cc:12] ` or `2021-02-10 03:53:38.327164: E 463
// file.cc:98] ` before every line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hloscope::hlo {

// Editors put it before a text in UTF-8; readers pass over it.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Length of the log prefix `line` begins with; 0 if there is none.
size_t LogPrefixLength(std::string_view line);

// `text` with its log prefixes written over by spaces, so that offsets stay; nullopt if none of its
// first lines has one.
std::optional<std::string> BlankLogPrefixes(std::string_view text);

}  // namespace hloscope::hlo
