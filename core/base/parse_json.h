// Reading JSON into trees of bounded depth: nlohmann's own functions that copy and print a tree
// recurse, and would overflow the stack on a deep one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

/// Returns the value in `text`. Fails where that is not JSON, is nested deeper than the limit
/// nesting or takes more memory than the limit file-memory.
Result<nlohmann::json> ParseJson(std::string_view text, const Limits& limits = {});

/// Like ParseJson; objects keep the order of their members.
Result<nlohmann::ordered_json> ParseOrderedJson(std::string_view text, const Limits& limits = {});

}  // namespace hloscope
