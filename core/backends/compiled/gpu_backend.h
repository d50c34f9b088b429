// GpuBackend: what backends of our own GPU kernels share, on a device and on a simulated one.
#pragma once

#include <string>

#include "core/backends/compiled/backend.h"
#include "core/compile/gpu_code.h"

namespace hloscope::replay {

class GpuBackend : public Backend {
 public:
  void AdjustOptions(compile::CompileOptions& how) const override;
  std::string CacheTarget(const RunOptions& options) const override;
  Result<CompiledCode> Compile(const compile::Compilation& compilation, const RunOptions& options,
                               std::string* image) const override;
  Result<CompiledCode> LoadFromCache(const compile::Compilation& compilation,
                                     const std::string& image,
                                     const RunOptions& options) const override;
  bool TakesPlanFiles() const override { return true; }
  Result<CompiledCode> Link(PlanCode planned, const RunOptions& options) const override;

 protected:
  // Begins to fill `out`. Returns the newest architecture of ours that is run here ("sm_90"), or
  // the one that is asked for.
  virtual Result<std::string> Begin(const RunOptions& options, CompiledCode& out) const = 0;
  // The kernels as what is launched.
  virtual Status Load(std::shared_ptr<const hlo::Module> module, compile::GpuCode code,
                      const RunOptions& options, CompiledCode& out) const = 0;

 private:
  // The same, with which instructions have no code, and why.
  Result<CompiledCode> Launchable(std::shared_ptr<const hlo::Module> module, compile::GpuCode code,
                                  const RunOptions& options, CompiledCode out) const;
};

}  // namespace hloscope::replay
