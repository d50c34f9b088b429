// Evaluate: what a module means. Runs a module on given arguments, instruction by instruction,
// after the HLO specification; the definition every other platform is held to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/eval/machine/compiled_kernels.h"
#include "core/hlo/module.h"
#include "core/hlo/sharding/topology.h"
#include "core/runtime/execute_options.h"
#include "core/runtime/observer.h"
#include "core/runtime/value.h"

namespace hloscope::eval {

using runtime::Buffer;
using runtime::Frame;
using runtime::Observer;
using runtime::Site;
using runtime::Value;

struct EvaluateOptions : runtime::ExecuteOptions {
  // Runs the instructions it has; null: the evaluator's kernels run all.
  const CompiledKernels* compiled = nullptr;
};

// What a run yields: the root's value, parts of which may be missing, each with the error why.
struct Evaluation {
  Value result;
  int64_t steps = 0;       // element operations done
  int64_t peak_bytes = 0;  // most bytes of values alive at once, arguments not counted
};

// Runs the entry computation. Arguments in parameter order, of the parameters' shapes (layouts
// aside). Errors: input for arguments that do not fit, died for a stop request, the deadline, the
// memory or the step limit, environment for want of memory. What cannot be run is a missing part of
// the result.
Result<Evaluation> Evaluate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                            const EvaluateOptions& options = {});

// What a run on several devices yields.
struct DeviceEvaluation {
  std::vector<Value> results;  // by list of arguments
  int64_t steps = 0;
  int64_t peak_bytes = 0;
  std::vector<std::string> warnings;
};

class Machine;

// What a device does with its arguments; null: it calls the entry computation.
using DeviceBody = std::function<Result<Value>(Machine& machine, std::vector<Value> arguments)>;

// The same on several devices: one list of arguments and one result per device or, for an
// unpartitioned module, per replica. Further errors: more devices than the limit; died where
// devices wait for one another and none can go on.
Result<DeviceEvaluation> EvaluateOnDevices(const hlo::Module& module, const hlo::Topology& topology,
                                           std::span<const std::vector<hlo::Literal>> arguments,
                                           const EvaluateOptions& options = {},
                                           const DeviceBody& body = nullptr);

}  // namespace hloscope::eval
