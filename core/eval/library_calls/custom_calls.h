// The kernels of custom calls whose targets are known; custom_calls.def has the names.
#pragma once

#include <string_view>

#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// A target and what runs it; `?` in the name stands for any one character, `*` at its end for any
// ending.
struct CustomCallRow {
  std::string_view target;
  Kernel kernel;              // null: it cannot be run
  bool has_expansion;         // the kernel computes nothing itself: it runs an Expansion
  std::string_view source;    // where its meaning is written
  std::string_view why, fix;  // where it cannot be run
};
// The row of a target; null where nobody knows it.
const CustomCallRow* FindCustomCall(std::string_view target);

// True for a custom call that hands values on, has an effect alone, or only runs a computation whose
// instructions are counted themselves.
bool TakesNoWork(const hlo::Module& module, hlo::InstructionId id);

// Every kernel there is; a name in custom_calls.def that is not there does not link.
#define CUSTOM_CALL(target, kernel, source) Result<Value> kernel##Call(KernelCall& call);
#define CUSTOM_CALL_EXPANDED CUSTOM_CALL
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix)
#include "core/eval/library_calls/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED

}  // namespace hloscope::eval
