// Reading the functions of 64-bit ELF object files out of their symbol tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::dump {

struct ObjectFunction {
  std::string name;
  int64_t bytes = 0;  // of machine code, as the symbol says
};

// The functions that an object file defines for others (STT_FUNC, STB_GLOBAL; System V ABI, chapter
// 4), in the order of their names; those that only it sees are left out. Never reads outside of
// `bytes`. Errors (input): no ELF, not of 64 bits or not little-endian, tables or names outside of
// the file, no symbol table.
Result<std::vector<ObjectFunction>> ReadObjectFunctions(std::string_view bytes);

}  // namespace hloscope::dump
