// Reading JSON into trees of bounded depth, since functions that copy and print a tree recurse and
// would overflow the stack on a deep one; and writing trees.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

/// Returns the value in `text`. Fails where that is not JSON, is nested deeper than the limit
/// nesting or takes more memory than the limit file-memory.
Result<nlohmann::json> ParseJson(std::string_view text, const Limits& limits = {});

/// Like ParseJson; objects keep the order of their members.
Result<nlohmann::ordered_json> ParseOrderedJson(std::string_view text, const Limits& limits = {});

/// The tree in one line, its texts as JsonWriter writes them: nlohmann leaves C1 controls and marks
/// of direction as they are.
std::string JsonText(const nlohmann::ordered_json& tree);

}  // namespace hloscope
