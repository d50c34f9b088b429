// LibraryCalls: the instructions of a module that NVIDIA's libraries compute, each with our own
// kernel behind it, which runs where the library refuses.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/backends/compiled/algorithm_selections.h"
#include "core/backends/cuda/device_kernels.h"

namespace hloscope::replay::cuda {

class AlgorithmSelector;

// True for a word that leaves a library out, where passes are named that are to be left out.
bool NamesLibrary(std::string_view word);

class LibraryCalls : public compile::KernelLibrary {
 public:
  // For the kernels of `own`, which outlives it; `left_out`: words of libraries. Errors of the
  // device, where ways are measured.
  static Result<std::unique_ptr<LibraryCalls>> Make(const hlo::Module& module,
                                                    const compile::GpuCode& code,
                                                    const DeviceKernels& own,
                                                    const std::shared_ptr<const Device>& device,
                                                    const std::vector<std::string>& left_out,
                                                    const AlgorithmSelector& chooser);

  const compile::KernelCode* Find(hlo::InstructionId id) const override;
  int64_t function_count() const override { return 0; }
  // Null where no library has anything to do with the module.
  std::shared_ptr<const AlgorithmSelections> choices() const;

 private:
  class Choices;
  LibraryCalls() = default;

  std::unordered_map<uint32_t, compile::KernelCode> code_;
  std::shared_ptr<Choices> choices_;
};

}  // namespace hloscope::replay::cuda
