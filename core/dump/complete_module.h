// CompleteFromDump: what a module's file leaves out is taken from other files of its dump.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/dump/dump_model.h"
#include "core/dump/load.h"
#include "core/hlo/module.h"

namespace hloscope::dump {

struct CompletedModule {
  std::shared_ptr<const hlo::Module> module;
  std::vector<std::string> notes;  // what was taken from where, and what could not be
};

// The elements of constants that a text has elided come from the proto of the same stage beside it,
// if that is the same module: the same instructions, shapes, operands and other constants. The
// shardings of the entry's parameters and result that a partitioned module has lost come from the
// module before optimization beside it, or from the proto of the stage, if the arrays before
// optimization, cut by them, are those here. The module as it is where nothing is missing or
// nothing is there. Never fails.
CompletedModule CompleteFromDump(const LoadedModule& loaded, const Limits& limits);
// The same of a stage of a dump's module. Errors: those of DumpModel::Module, or it has no file.
Result<CompletedModule> CompleteStage(const DumpModel& dump, int32_t module, int32_t stage,
                                      const Limits& limits);

}  // namespace hloscope::dump
