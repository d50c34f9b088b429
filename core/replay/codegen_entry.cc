// Library calls by core/codegen's library.
#include "core/replay/codegen_entry.h"

#include <algorithm>
#include <iterator>

#include "core/compile/library_rules.h"

namespace hloscope::replay {

Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    const compile::Compilation& compilation, std::vector<hlo::InstructionId>& kernels) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto make_calls, CodegenEntry<compile::MakeLibraryCallsFunction>(
                                                       compile::kMakeLibraryCalls));
  const auto calls = compile::LibraryCallsOf(*compilation.module);
  HLOSCOPE_ASSIGN_OR_RETURN(auto made, make_calls(compilation.module, calls));
  std::ranges::copy_if(calls, std::back_inserter(kernels),
                       [&](hlo::InstructionId id) { return made->Find(id) == nullptr; });
  return made;
}

}  // namespace hloscope::replay
