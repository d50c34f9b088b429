// CodegenEntry: a function of core/codegen's library, which only workers load.
#pragma once

#include "core/base/own_library.h"
#include "core/base/result.h"

namespace hloscope::replay {

// The function that the library gives under that name (compile::kGenerateKernels, …).
template <typename Function>
Result<Function> CodegenEntry(const char* name) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      void* const entry,
      FindInOwnLibrary("codegen", name, "run `scripts/setup build`, then build again"));
  return *static_cast<const Function*>(entry);
}

}  // namespace hloscope::replay
