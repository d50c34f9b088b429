// What the Python hook saved of calls, given to the modules of the dump that those calls ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::debug {

struct SavedInputs {
  struct Given {
    std::string module;  // "module_0001.jit_step"
    std::string file;    // "module_0001.jit_step.inputs.npz", relative to the dump
    int64_t arrays = 0;
  };
  std::vector<Given> given;           // in the order of the modules
  std::vector<std::string> without;   // modules whose call was not seen, by their titles
  std::vector<std::string> warnings;  // calls whose arguments fit no module, and what failed
};

// Gives each module the arguments of the call that ran it first, as `<title>.inputs.npz` beside its
// files, which only the user may read, and removes what is left of the hook's folders. A call is
// matched by the id of the module where the framework knows it, else by the name of its function;
// either way the module's parameters must be its arrays, in order and by type and dimensions, where
// exactly one choice of the arrays is that.
SavedInputs SettleSavedInputs(const dump::DumpModel& model);

}  // namespace hloscope::debug
