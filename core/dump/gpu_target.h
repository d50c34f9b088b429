// The description of the GPU that a module was compiled for.
#pragma once

#include <cstdint>

#include "core/dump/dump_model.h"

namespace hloscope::dump {

// The file of the dump that describes it (FileRole::kGpuTarget): the module's own, else the first
// of another module, since one process compiles for one device; -1: none.
int32_t FindGpuTarget(const DumpModel& dump, int32_t module);

}  // namespace hloscope::dump
