// LinkedCode: objects as code in this process.
#pragma once

#include <llvm/Support/MemoryBufferRef.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hloscope::codegen {

// Reaches the symbols of runtime/symbols.def and nothing else. Alive as long as the code may run.
class LinkedCode {
 public:
  LinkedCode();
  ~LinkedCode();

  // The bytes need not outlive the call. Internal: it is no object for this machine, or asks for a
  // symbol that is not in the table.
  Status Add(llvm::MemoryBufferRef object);
  // The address of a function; internal where there is none.
  Result<void*> Find(const std::string& name) const;

 private:
  class Memory;
  class Loaded;
  std::vector<std::unique_ptr<Loaded>> objects_;
};

}  // namespace hloscope::codegen
