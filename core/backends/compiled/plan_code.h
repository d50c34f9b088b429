// PlanCode: what a .hloplan holds beside its module: the plan, and the kernels for a GPU as PTX, so
// that another process, of any later version, runs it without a compiler.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/compile/compile.h"
#include "core/compile/gpu_code.h"

namespace hloscope::replay {

struct PlanCode {
  // The module, and the plan or why there is none; the list of kernels is empty.
  compile::Compilation compilation;
  std::string target;  // that the PTX is for: "sm_90"
  compile::GpuCode code;
};

// The code alone, for the cache. Internal error: the image is none, or does not fit.
std::string ToImage(const compile::GpuCode& code);
Result<compile::GpuCode> GpuCodeOf(const std::string& image,
                                   const compile::Compilation& compilation);

// The bytes of the file.
Result<std::string> ToPlanFile(const compile::Compilation& compilation, const std::string& target,
                               const compile::GpuCode& code);

// True for a file that begins as a .hloplan does.
bool IsPlanFile(const std::string& path);
// Reads it for `module`, which has to be the one in it. Input errors: it cannot be read, is
// damaged, or holds another module.
Result<PlanCode> ReadPlanFile(const std::string& path, std::shared_ptr<const hlo::Module> module,
                              const Limits& limits);

}  // namespace hloscope::replay
