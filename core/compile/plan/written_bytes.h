// WrittenBytes: how much memory one run of a kernel writes.
#pragma once

#include <cstdint>

#include "core/hlo/module.h"

namespace hloscope::compile {

// Of its value, or of the part of it that the kernel writes where the rest is there already
// (InPlaceOperands).
int64_t WrittenBytes(const hlo::Module& module, hlo::InstructionId kernel);
// So many count as an element, about, in the work of a run.
inline constexpr int64_t kBytesPerElement = 4;

}  // namespace hloscope::compile
