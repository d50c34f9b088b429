// WrittenBytes, ReadBytes: how much memory one run of a kernel touches.
#pragma once

#include <cstdint>

#include "core/hlo/module.h"

namespace hloscope::compile {

// Of its value, or of the part of it that the kernel writes where the rest is there already
// (InPlaceOperands).
int64_t WrittenBytes(const hlo::Module& module, hlo::InstructionId kernel);
// Of its operands: all of them, or the parts that slices and gathers take, and nothing of what the
// kernel updates in place.
int64_t ReadBytes(const hlo::Module& module, hlo::InstructionId kernel);
// So many count as an element, about, in the work of a run.
inline constexpr int64_t kBytesPerElement = 4;

}  // namespace hloscope::compile
