// `hloscope compare A B --decisions` and `--memory`: answers about the modules that two dumps
// share.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/command.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {

struct PairRequest {
  std::string a, b;                  // dumps
  std::vector<std::string> modules;  // names or ids; empty: all
};

struct ModulePairs {
  std::shared_ptr<const dump::DumpModel> a, b;
  std::vector<std::pair<int32_t, int32_t>> pairs;  // positions in modules()
  std::vector<std::string> unpaired;               // "A: module_0002.jit_g"
};
// Errors: a dump cannot be read; they have no module in common.
Result<ModulePairs> PairModules(const PairRequest& request, const Context& context);

// Prints the answer, and gives the exit status. Errors: no pair of modules has what it takes.
Result<int> CompareDecisions(const PairRequest& request, const Context& context);
Result<int> CompareMemory(const PairRequest& request, const Context& context);

}  // namespace hloscope::app
