// `extract` on a simulated GPU: the kernels of one instruction as a dump of their own.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::app {

struct ExtractedKernel {
  std::string module, inputs, expected;  // files
  size_t instructions = 0, parameters = 0;
  std::vector<std::string> kernels;
};

// Runs the module until the kernel (or instruction) of that name has its operands, and writes into
// `folder`, which is made: the instruction as a module, its code, launches and buffers as XLA dumps
// them, its inputs, and what it means on them. `run` on that module with --as-dumped then runs the
// kernels alone. Errors: no such kernel, those of the run, a folder that has files already.
Result<ExtractedKernel> ExtractKernel(const std::string& name, int64_t execution,
                                      const std::shared_ptr<const hlo::Module>& module,
                                      const debug::RunSpec& request, const std::string& folder,
                                      const std::stop_token& stop);

}  // namespace hloscope::app
