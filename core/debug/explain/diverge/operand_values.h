// OperandValues: what an instruction really read in one of its executions, from the values that a
// platform tells.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/program_point.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::debug {

// Where the array in one leaf of a value was made: a captured value, a leaf of the entry's
// parameters, or a constant; then bitcasts that it went through, the last one first.
struct ValueSource {
  enum class Kind : uint8_t { kCaptured, kParameter, kConstant, kToken };
  Kind kind = Kind::kToken;
  replay::ValueKey key;        // of kCaptured; else its instruction and device
  int64_t parameter_leaf = 0;  // of kParameter: among the leaves of all parameters
  std::vector<hlo::InstructionId> bitcasts;
};

// The source of the leaf that `key` names, whatever its instruction: followed through tuples, their
// elements, calls, branches and the iterations of loops. Unsupported, by name: an instruction that
// hands values on in a way not known here.
Result<ValueSource> FindSource(const hlo::Module& module, replay::ValueKey key);

// The array: `inputs` has the leaves of the entry's parameters by device, `captured` the values of
// sources that were captured.
Result<hlo::Literal> ValueOf(const hlo::Module& module, const ValueSource& source,
                             std::span<const std::vector<hlo::Literal>> inputs,
                             const std::map<ProgramPoint, hlo::Literal>& captured);

}  // namespace hloscope::debug
