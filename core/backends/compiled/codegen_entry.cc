// Library calls by the library of them.
#include "core/backends/compiled/codegen_entry.h"

#include <algorithm>
#include <iterator>

#include "core/compile/library_rules.h"

namespace hloscope::replay {

namespace {

class NoCalls : public compile::KernelLibrary {
 public:
  const compile::KernelCode* Find(hlo::InstructionId) const override { return nullptr; }
  int64_t function_count() const override { return 0; }
};

}  // namespace

bool HasLibraryCalls() { return HasOwnLibrary(kCallsLibrary); }

Result<std::unique_ptr<compile::KernelLibrary>> MakeLibraryCalls(
    const compile::Compilation& compilation, std::vector<hlo::InstructionId>& kernels) {
  const auto calls = compile::LibraryCallsOf(*compilation.module);
  if (calls.empty()) return std::make_unique<NoCalls>();
  using Function = compile::MakeLibraryCallsFunction;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto make_calls,
                            HasLibraryCalls()
                                ? CodegenEntry<Function>(compile::kMakeLibraryCalls, kCallsLibrary)
                                : CodegenEntry<Function>("hloscope_make_transform_calls"));
  HLOSCOPE_ASSIGN_OR_RETURN(auto made, make_calls(compilation.module, calls));
  std::ranges::copy_if(calls, std::back_inserter(kernels),
                       [&](hlo::InstructionId id) { return made->Find(id) == nullptr; });
  return made;
}

}  // namespace hloscope::replay
