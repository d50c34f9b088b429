// Expand: a library call as plain instructions, for platforms that do not have the library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/hlo/expand/call_site.h"
#include "core/hlo/module.h"

namespace hloscope::hlo::expand {

/// A module whose entry computes the result of the custom call `id` from its operands; goes by
/// shapes, attributes and constants, and holds no array as large as theirs. Null where the call has
/// no expansion, where an operand is not an array of a static shape, and where an option is a
/// scalar operand that is no constant. Errors: unsupported and input, where the call makes no
/// sense.
Result<ModulePtr> Expand(const Module& module, InstructionId id);

/// The same with what the run knows: operands of any shape, and the integer scalars among them.
Result<ModulePtr> Expand(const Module& module, InstructionId id,
                         std::span<const std::optional<int64_t>> integers);

}  // namespace hloscope::hlo::expand
