// The machine code of the kernels of a dump, as CUDA's own tools make it: what of
// core/backends/sass others than commands show.
#pragma once

#include <stop_token>

#include "core/backends/sass/machine_code.h"

namespace hloscope::debug {

using replay::MachineCode;
using replay::MayHaveMachineCode;
using replay::ResourcesText;
using replay::SassLine;

// By the tools of this machine; errors as of replay::MakeMachineCode.
inline Result<MachineCode> MachineCodeIn(const dump::DumpModel& dump, int32_t module,
                                         const dump::Kernel& kernel, const std::stop_token& stop) {
  return replay::MachineCodeIn(dump, module, kernel, replay::FindCudaTools(), stop);
}

}  // namespace hloscope::debug
