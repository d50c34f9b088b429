// StableHLO and MHLO as HLO: what a plugin's own reader, or that of jaxlib, makes of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/budget.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/readers/symbolic_shapes.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::replay {

// What a program in MLIR leaves open until somebody runs it.
struct MlirArguments {
  // The platform of XLA that a program for several of them runs on, which `platform` needs; empty:
  // the host where the program is for it, else the first.
  std::string platform = {};
  std::vector<dump::DimensionVariable> variables = {};  // --shape
  // Of the arrays of --inputs, by number; asked only where a program has symbolic shapes.
  std::function<Result<std::vector<std::optional<dump::Dimensions>>>()> dimensions = {};
};

// Translates a module in MLIR, text or bytecode, or what jax.export serialised: the XLA:CPU plugin
// compiles it in a child, and the module as it was before all passes is taken. Where shapes of
// arguments are symbolic, they are refined by jaxlib in a child Python. `name` is the file that
// source lines are in where the module does not say. Errors: no plugin, no jaxlib, XLA's words
// about the module, shapes that are not set, died; at the budget's deadline, or the limit's.
Result<hlo::ProtoFile> TranslateMlir(const std::string& name, std::string_view code,
                                     const MlirArguments& arguments, const Limits& limits,
                                     const Budget& budget = {});

// What JAX calls the devices of a platform of ours.
std::string JaxPlatformOf(std::string_view platform);

}  // namespace hloscope::replay
