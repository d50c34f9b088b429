// ExpandCall: a library call as plain instructions, for platforms that do not have the library.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::eval {

// A module that computes what the custom call `id` does, from parameters shaped as its operands;
// null where its meaning is not written as instructions, or an option is known to the run alone.
// Errors: the call makes no sense.
Result<std::shared_ptr<const hlo::Module>> ExpandCall(const hlo::Module& module,
                                                      hlo::InstructionId id);

}  // namespace hloscope::eval
