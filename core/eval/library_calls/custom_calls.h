// The kernels of custom calls that are no expansion.
#pragma once

#include "core/eval/machine/machine.h"
#include "core/hlo/expand/custom_calls.h"

namespace hloscope::eval {

// Every kernel there is; a meaning in custom_calls.def that has none does not link.
#define CUSTOM_CALL(target, meaning, source) Result<Value> meaning##Call(KernelCall& call);
#define CUSTOM_CALL_EXPANDED(target, name, source)
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix)
#include "core/hlo/expand/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED

}  // namespace hloscope::eval
