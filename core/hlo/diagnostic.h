// Diagnostic: one thing wrong with a module, with its place in the source text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::hlo {

enum class Severity : uint8_t { kError, kWarning };

struct Diagnostic {
  static constexpr uint64_t kNoOffset = ~uint64_t{0};

  Severity severity = Severity::kError;
  std::string rule;             // a short stable name: "syntax", "reshape", "unknown-attribute", …
  std::string message;          // what, and what was expected
  std::string hint;             // how to fix it; may be empty
  uint64_t offset = kNoOffset;  // byte in the source text
};

// Line and column of offsets in a text, built by one pass over it.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text);
  // Line and column counting from 1; columns count bytes. Both 0 for kNoOffset or an offset beyond
  // the text.
  Place PlaceOf(uint64_t offset, std::string_view file) const;

 private:
  std::vector<uint64_t> line_starts_;
  uint64_t size_;
};

}  // namespace hloscope::hlo
