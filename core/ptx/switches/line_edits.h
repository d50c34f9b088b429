// LineEdits: the instructions of an entry written otherwise, one at a time, as a slip would have
// them: which of them makes a wrong result right says where the slip is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ptx/ptx.h"

namespace hloscope::ptx {

struct LineEdit {
  uint32_t line = 0;
  size_t statement = 0;       // in the module's text: where it begins, with its guard
  size_t at = 0, length = 0;  // bytes of that text that it replaces
  std::string text;           // with what
  // Of a barrier that is put before the line; else the instruction becomes another.
  bool inserts = false;
  // A floating-point constant, whose right value is not known: `text` is empty, and `value` what it
  // is now.
  bool is_float = false;
  double value = 0;
  // 0: another order, comparison or distance, a number one more or less, twice or half; 1: other
  // numbers near it; 2: another number of the kernel or of `sizes`; 3: another register or guard,
  // of which there are many more.
  uint32_t level = 0;
};

// Of an entry, in the order of its lines. `sizes`: numbers that may be meant, such as dimensions.
// Loads of parameters, branches and what only waits stay as they are.
std::vector<LineEdit> LineEditsOf(const Module& module, const std::string& entry,
                                  std::span<const int64_t> sizes);

// The floating-point constant of an edit with another value, as PTX writes it.
std::string FloatText(const LineEdit& edit, double value);

// The module's text with the edit; what the statement then says, in one line without its `;`.
std::string Edited(std::string_view text, const LineEdit& edit);
std::string StatementAfter(std::string_view text, const LineEdit& edit);

}  // namespace hloscope::ptx
