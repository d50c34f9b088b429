// EmitLoopFunction: a loop of small steps as one function, so that no time goes by between them.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "core/base/result.h"
#include "core/compile/plan/plan.h"

namespace hloscope::codegen {

// The scratch memory that the function asks for; nullopt where a kernel of it cannot be written.
// It has the form compile::LoopFunction. Other functions that it calls stay inside the module.
std::optional<int64_t> EmitLoopFunction(llvm::Module& module, const compile::Plan& plan,
                                        const compile::PlannedStep& loop, const std::string& name);

}  // namespace hloscope::codegen
