// Which files of a stage hold its module.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dump/dump_model.h"

namespace hloscope::dump {

// All that do, in the order in which they are believed: protos, texts, snapshots.
std::vector<int32_t> ModuleFiles(const DumpModel& model, int32_t module, int32_t stage);

// The first of them; -1: none. Of each stage of each module it is asked for often.
int32_t FirstModuleFile(const DumpModel& model, int32_t module, int32_t stage);

}  // namespace hloscope::dump
