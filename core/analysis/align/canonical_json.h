// One text for all spellings of a JSON value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hloscope::analysis {

/// Returns `text` without spaces, members sorted by key, escapes resolved and each number as its
/// exact decimal value: two texts of the same value give the same, others do not. Repeated keys are
/// kept in their order. Nullopt where the text is not JSON. Takes any nesting; O(n log n).
std::optional<std::string> CanonicalJson(std::string_view text);

}  // namespace hloscope::analysis
