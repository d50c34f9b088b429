// GpuBackend: what backends of our own GPU kernels share, on a device and on a simulated one.
#pragma once

#include <string>

#include "core/compile/gpu_code.h"
#include "core/replay/compiled/backend.h"

namespace hloscope::replay {

class GpuBackend : public Backend {
 public:
  void Ask(compile::CompileOptions& how) const override;
  std::string CacheTarget() const override { return {}; }
  // Internal error: what is written is not kept.
  Result<WrittenCode> Keep(const compile::Compilation& compilation,
                           std::unique_ptr<compile::KernelLibrary> kernels) const override;

 protected:
  // The kernels as PTX for an architecture of ours; `out` is told which have no code, and why.
  static Result<compile::GpuCode> Generate(const compile::Compilation& compilation,
                                           const RunOptions& options, const std::string& target,
                                           WrittenCode& out);
};

}  // namespace hloscope::replay
