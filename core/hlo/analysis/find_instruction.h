// An instruction by its name.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// The instruction called `name`, with or without `%`, in `computation` unless that is empty; "C:NAME"
// means NAME in C. The entry's wins where a name stands in several computations. An input error names
// what comes close.
Result<InstructionId> FindInstruction(const Module& module, std::string_view name,
                                      std::string_view computation = {});

}  // namespace hloscope::hlo
