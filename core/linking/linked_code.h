// LinkedCode: objects as code in this process.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"

namespace hloscope::linking {

// Reaches the symbols of runtime/symbols.def and nothing else. Alive as long as the code may run.
class LinkedCode {
 public:
  LinkedCode();
  ~LinkedCode();

  // The bytes need not outlive the call. Internal: it is no object that can be linked, or asks for
  // a symbol that is not in the table. Unsupported: this is no x86-64 processor.
  Status Add(std::span<const std::byte> object);
  // The address of a function; internal where there is none.
  Result<void*> Find(const std::string& name) const;

 private:
  class Memory;
  class Linker;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::unordered_map<std::string, void*> functions_;
};

}  // namespace hloscope::linking
