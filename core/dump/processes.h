// Processes that wrote into one folder. No process gives two modules one id, so where ids repeat
// (the names differ by a timestamp), the folder is that of several: ranks, or runs one after
// another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dump/dump_model.h"

namespace hloscope::dump {

// By module: how many earlier ones of its folder have its id. 0 for modules without an id.
std::vector<int32_t> ProcessOfModules(const DumpModel& model);

// ", timestamp 1700000000", ", rank3": what the file names say of the process; empty if nothing.
std::string ProcessText(const ModuleEntry& module);

// The largest number of processes that wrote into one folder, at least 1.
int64_t ProcessesIn(const DumpModel& model);
// "written by 3 processes into one folder: ids of modules repeat", or "by 3 processes, each into a
// folder of its own", as `record` has it; empty: by one.
std::string ProcessesText(const DumpModel& model);

}  // namespace hloscope::dump
