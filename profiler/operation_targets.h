// The instruction that an operation or a name stands for: the look-ups behind Attribution.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/attribution.h"

namespace hloscope::profiler {

class OperationTargets {
 public:
  explicit OperationTargets(const std::vector<AttributedModule>& modules);

  // Invalid where no module has it, or several have and nothing tells which is meant.
  Target OfOperation(std::string_view module, std::string_view name, int64_t program) const;
  // Of the name of an event: an annotation in it, "PROGRAM/INSTRUCTION" or the name of a kernel.
  Target OfName(std::string_view name) const;
  // Of a kernel whose name says only the library: the one call of it that `is_free` allows.
  template <typename IsFree>
  Target OnlyLibraryCall(std::string_view kernel, IsFree is_free) const {
    Target only;
    for (const std::string_view library : LibrariesOf(kernel)) {
      const auto calls = library_calls_.find(library);
      if (calls == library_calls_.end()) continue;
      for (const Target& call : calls->second) {
        if (!is_free(call)) continue;
        if (only.valid()) return {};
        only = call;
      }
    }
    return only;
  }

 private:
  struct Names {
    std::unordered_map<std::string_view, hlo::InstructionId> instructions;
    // Names of kernels; an invalid instruction where several would have the same.
    std::unordered_map<std::string, std::pair<hlo::InstructionId, AttributionReason>> kernels;
  };
  // How the targets begin of custom calls that launch such a kernel, each once.
  static std::vector<std::string_view> LibrariesOf(std::string_view kernel);
  Target InModule(size_t module, std::string_view name, AttributionReason reason) const;
  template <typename Fits>
  Target InAny(std::string_view name, AttributionReason reason, Fits fits) const;
  Target OfKernel(std::string_view name) const;

  const std::vector<AttributedModule>& modules_;
  std::vector<Names> names_;
  // Custom calls of libraries, by how their targets begin.
  std::unordered_map<std::string_view, std::vector<Target>> library_calls_;
};

}  // namespace hloscope::profiler
