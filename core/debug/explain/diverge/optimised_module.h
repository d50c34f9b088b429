// The module that a platform really runs, and what it takes.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// True for a platform that compiles modules and can say what became of them.
bool Compiles(const std::string& platform);

// `module` compiled on `platform` with the request's options. Errors: those of compiling;
// unsupported where what it gives cannot be read.
Result<std::shared_ptr<const hlo::Module>> OptimisedModule(
    const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
    const std::string& platform, const std::stop_token& stop);

// What it takes for arguments of the module it was made of: the leaves of the parameters, dynamic
// arrays whole with their live sizes behind them, and no tokens.
std::vector<hlo::Literal> LeafArguments(const std::vector<hlo::Literal>& arguments);

}  // namespace hloscope::debug
