// Which instructions may be off because a function is approximated.
#pragma once

#include <optional>

#include "core/hlo/module.h"
#include "core/hlo/opcode.h"

namespace hloscope::debug {

/// True if `id` computes a transcendental function, or calls something that does. Square roots are
/// rounded correctly, and count where nothing else is computed. `differs` is the opcode of what is
/// known to differ inside of it: where that calls nothing, it alone decides; of a map or reduction,
/// what it applies.
bool MayComputeFunction(const hlo::Module& module, hlo::InstructionId id,
                        std::optional<hlo::Opcode> differs);

}  // namespace hloscope::debug
