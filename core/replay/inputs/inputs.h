// Made-up inputs: the same for the same module and seed on every machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/budget.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

struct InputOptions {
  uint64_t seed = 0;
  bool large_floats = false;  // --use_large_float_range
  bool zeros = false;         // --random_init_input_literals=false
  bool edge_values = false;   // --edge_values
  Limits limits;
  Budget budget;  // its deadline and stop: beyond them it fails
};

struct GeneratedInputs {
  std::vector<hlo::Literal> literals;  // one per parameter of the entry
  std::vector<std::string> warnings;   // constraints of two uses that exclude one another
};

// Values for the parameters by XLA's rules for made-up arguments (floats in [-0.1, 0.2), integers
// over their whole range, pred 0 or 1), held to what their uses need, however far away: indices in
// range, sorted and unique where said so; neutral initial values; arguments of log, sqrt, divisions
// in their domain; distinct sort keys; loops that end; sizes, groups and offsets that fit; positive
// definite matrices. With edge values only what loops need to end is held to everywhere (see
// edge_values.h). Of constraints that exclude one another the tighter is met, with a warning.
// Errors: unsupported for a parameter that no value can be made up for; environment beyond limits.
Result<GeneratedInputs> MakeInputs(const hlo::Module& module, const InputOptions& options);

}  // namespace hloscope::replay
