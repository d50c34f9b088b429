// Switches by their keys.
#include "core/backends/gpusim/switched_kernels.h"

#include <fmt/format.h>

namespace hloscope::replay {

SearchRequest SwitchedKernelsRequest(ptx::Switch which) {
  return {std::string(kSwitchedKernelsSearch),
          std::string(ptx::SwitchRows()[static_cast<size_t>(which)].key)};
}

Result<std::unique_ptr<SwitchedKernels>> SwitchedKernels::Make(const SearchRequest& request) {
  for (const ptx::SwitchRow& row : ptx::SwitchRows()) {
    if (row.key == request.request)
      return std::unique_ptr<SwitchedKernels>(new SwitchedKernels(row.which));
  }
  return InputError(fmt::format("no switch {}", request.request));
}

}  // namespace hloscope::replay
