// PTX text to Syntax.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/ptx/text/syntax.h"

namespace hloscope::ptx {

// How much of a module is read; more is an input error. A module's text is anybody's.
struct TextLimits {
  uint64_t text_bytes = 64u << 20;
  uint32_t entries = 100'000;
  uint32_t variables = 100'000;
  uint64_t variable_bytes = 256u << 20;  // of all initialised and zeroed variables of a module
  uint32_t registers = 1u << 20;         // of one entry
  uint64_t module_registers = 16u << 20;
  uint32_t statements = 4u << 20;  // of one module
  uint32_t parameters = 4096;      // of one entry
  uint32_t nesting = 64;           // of { }
  uint32_t operand_parts = 256;    // of one vector
};

// The module that `text` says; an empty text is a module without entries. Errors, all of the input
// class, carry file, line and column: what is malformed, unknown names, more than `limits`.
Result<Syntax> ParseText(std::string text, std::string file, const TextLimits& limits = {});

}  // namespace hloscope::ptx
