// CodegenEntry: a function of core/codegen's libraries, which only workers load, when they need
// them.
#pragma once

#include <memory>
#include <vector>

#include "core/base/own_library.h"
#include "core/base/result.h"
#include "core/compile/compile.h"
#include "core/compile/kernel_code.h"

namespace hloscope::replay {

inline constexpr const char* kCodegenLibrary = "codegen";
inline constexpr const char* kCallsLibrary = "library_calls";

// The function that the library gives under that name (compile::kGenerateKernels, …).
template <typename Function>
Result<Function> CodegenEntry(const char* name, const char* library = kCodegenLibrary) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      void* const entry,
      FindInOwnLibrary(library, name, "run `scripts/setup build`, then build again"));
  return *static_cast<const Function*>(entry);
}

// False in a build without oneDNN: every dot and convolution is a kernel of our own.
bool HasLibraryCalls();

// The calls of libraries in a compiled module; those that the library refuses are added to
// `kernels`; without one, all but the transforms.
Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    const compile::Compilation& compilation, std::vector<hlo::InstructionId>& kernels);

}  // namespace hloscope::replay
