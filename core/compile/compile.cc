// Compile: runs the passes and fusion over a module.
#include "core/compile/compile.h"

#include <utility>

#include "core/compile/kernel_rules.h"

namespace hloscope::compile {

Result<Compilation> Compile(std::shared_ptr<const hlo::Module> module, const CompileOptions&) {
  Compilation out;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    out.new_id.emplace_back(i);
    if (IsKernel(*module, hlo::InstructionId(i))) out.kernels.emplace_back(i);
  }
  out.before_fusion = module;
  out.module = std::move(module);
  return out;
}

}  // namespace hloscope::compile
