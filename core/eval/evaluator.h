// Evaluate: what a module means. Runs a module on given arguments, instruction by instruction,
// after the HLO specification; the definition every other platform is held to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/eval/value.h"
#include "core/hlo/module.h"

namespace hloscope::eval {

struct EvaluateOptions {
  Limits limits;  // deadline, memory, tensor, nesting and interpreter-steps are honoured
  std::stop_token stop;
  // Gives constants whose bytes the file does not hold made-up elements from this seed; without it
  // a result that depends on one is an error.
  std::optional<uint64_t> fill_elided;
  // Seeds rng, rng-bit-generator's default algorithm and rng-get-and-update-state.
  uint64_t rng_seed = 42;
};

// What a run yields: the root's value, parts of which may be missing, each with the error why.
struct Evaluation {
  Value result;
  int64_t steps = 0;       // element operations done
  int64_t peak_bytes = 0;  // most bytes of values alive at once, arguments not counted
};

// Runs the entry computation. Arguments in parameter order, of the parameters' shapes (layouts
// aside). Errors: input for arguments that do not fit, died for a stop request or the step limit,
// environment for want of memory. What cannot be run is a missing part of the result.
Result<Evaluation> Evaluate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                            const EvaluateOptions& options = {});

}  // namespace hloscope::eval
