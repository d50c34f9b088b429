// ScanForm: windows along one dimension, as long ones are reduced.
#pragma once

#include <optional>

#include "core/codegen/emit/emit_kernel.h"

namespace hloscope::codegen {

struct ScanForm {
  enum class Kind : uint8_t {
    kPrefix,   // from the first element to the result's place
    kSuffix,   // from there to the last
    kSliding,  // window elements
  };
  size_t dimension = 0;
  Kind kind = Kind::kSliding;
  int64_t window = 1, padding_low = 0;
  int64_t results = 1;  // along the dimension
};

// The form of a reduce-window; nullopt where it has another, or goes through its windows as fast.
std::optional<ScanForm> ScanFormOf(const Kernel& kernel);

EmittedKernel EmitScan(llvm::Module& module, const Kernel& kernel, const std::string& name,
                       const ScanForm& form);
// Of windows that reach back to the beginning, or on to the end.
EmittedKernel EmitGpuScan(llvm::Module& module, const Kernel& kernel, const std::string& name,
                          const ScanForm& form);

}  // namespace hloscope::codegen
