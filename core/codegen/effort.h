// EffortFor: how much it is worth to write a kernel well.
#pragma once

#include "core/codegen/emit/kernel.h"
#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

// The least for what runs once and has few elements.
compile::Effort EffortFor(const Kernel& kernel);

}  // namespace hloscope::codegen
