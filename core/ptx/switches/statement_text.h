// Statements of PTX as text: their tokens, and a module's text with one entry alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ptx/ptx.h"

namespace hloscope::ptx {

// Whether it may stand in a name, a number, a guard or a label.
bool IsNameCharacter(char c);

struct TextToken {
  enum class Kind : uint8_t { kName, kInteger, kFloat, kMark };
  Kind kind = Kind::kMark;
  size_t at = 0, length = 0;
  int64_t value = 0;  // of an integer
};

// From `at` to the end of the statement, or of a text that has none.
std::vector<TextToken> TokensOf(std::string_view text, size_t at);

// The text of the module without its other entries; lines keep their numbers. Errors: input where
// there is no such entry.
Result<std::string> TextOfEntry(const Module& module, const std::string& entry);

}  // namespace hloscope::ptx
