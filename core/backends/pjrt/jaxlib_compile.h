// What running and compiling with jaxlib share: the module in the form it takes.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "core/backends/jaxlib/jaxlib_process.h"
#include "core/backends/pjrt/adapt.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// The environment that HLOSCOPE_PYTHON names in the options' environment, or none.
PluginSearch PythonOf(const RunOptions& options);

// The module as a plugin would get it. Unsupported: what cannot be adapted; an optimised module
// (without options.platform.run_passes), which StableHLO cannot say.
Result<pjrt::Adapted> AdaptForJaxlib(std::shared_ptr<const hlo::Module> module,
                                     const RunOptions& options);

// Compiles it, with a warning for what StableHLO made of it. `optimized_module` is in the answer
// where it is asked for; with `trace` the profiler of the child tells its stages.
Result<JaxlibProgram> CompileAdapted(JaxlibProcess& child, const pjrt::Adapted& adapted,
                                     bool optimized_module, bool trace, const Budget& bounds);

// CompileModule's part for platforms that need a Python.
Result<CompileModuleReport> CompileWithJaxlib(const std::shared_ptr<const hlo::Module>& module,
                                              const CompileModuleRequest& request,
                                              const std::stop_token& stop);

// The name of a flag that the child's XLA does not know, in JaxlibProcess::Start's error; empty: it
// is another error.
std::string UnknownFlagIn(const Error& error);

}  // namespace hloscope::replay
