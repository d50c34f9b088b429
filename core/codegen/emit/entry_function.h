// EmitEntryFunction: a whole plan as one function, for programs without this one.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "core/base/result.h"
#include "core/compile/plan/plan.h"

namespace hloscope::codegen {

struct EmittedEntry {
  int64_t temp_bytes = 0;  // that it asks of its caller
  int64_t kernels = 0;     // functions of kernels that it calls
};

// Writes the function, of the form compile::EntryFunction, and the kernels of the plan, which stay
// inside the module as do the constants. Unsupported, by name, where a step has no code.
Result<EmittedEntry> EmitEntryFunction(llvm::Module& module, const compile::Plan& plan,
                                       const std::string& name);

}  // namespace hloscope::codegen
