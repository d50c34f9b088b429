// StableHLO and MHLO as HLO: what a plugin's own reader makes of them.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::replay {

// Translates a module in MLIR, text or bytecode: the XLA:CPU plugin compiles it in a child, and the
// module as it was before all passes is taken. `name` is the file that source lines are in where
// the module does not say. Errors: no plugin, XLA's words about the module, died.
Result<hlo::ProtoFile> TranslateMlir(const std::string& name, std::string_view code,
                                     const Limits& limits, const std::stop_token& stop = {});

}  // namespace hloscope::replay
