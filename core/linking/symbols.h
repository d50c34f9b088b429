// What compiled code may call outside of itself: one table, no other symbol of the process.
#pragma once

#include <span>

namespace hloscope::linking {

struct Symbol {
  const char* name;
  void* address;
};
// All symbols that compiled code may reach.
std::span<const Symbol> Symbols();

}  // namespace hloscope::linking
