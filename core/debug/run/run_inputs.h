// What a run gets on each device: from files, from arguments that came with the module, or
// generated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/module.h"
#include "core/replay/device_values.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope::debug {

struct RunSpec;

struct RunInputs {
  std::vector<std::vector<hlo::Literal>> lists;  // leaves of all parameters, by list of Placement
  // One per parameter: as given, put together from the devices where that can be done; else what
  // the first device gets.
  std::vector<hlo::Literal> arguments;
  std::vector<std::string> warnings;  // arrays of the files that are not used
};

// Arrays whose names number none are taken by the names of the parameters where each has one of its
// name, as "w" for w.1 or for the op_name "w"; else they stay in the file's order.
void NumberByParameters(dump::TensorFiles& files, const hlo::Module& module);

// Arrays by their names (docs/replay.md, "Values"); in0@2 before in0. Input error: one that is not
// there or does not fit.
Result<RunInputs> ReadInputs(const dump::TensorFiles& files, const hlo::Module& module,
                             const replay::Placement& placement);
// Arguments in the forms Placement::Spread takes.
Result<RunInputs> SpreadArguments(std::vector<hlo::Literal> arguments, const hlo::Module& module,
                                  const replay::Placement& placement);
// Generated arguments; `warnings` gets what is said of the first device's.
Result<RunInputs> GenerateInputs(const hlo::Module& module, const replay::Placement& placement,
                                 const replay::InputOptions& options,
                                 std::vector<std::string>& warnings);

// Writes arguments that devices share under in0 …, others under in0@0, in0@1 ….
Status WriteRunInputs(const std::string& path, const RunInputs& inputs,
                      const replay::Placement& placement);
// The size of the archive that it would write; bytes of values are not looked at where all devices
// share one list.
int64_t BytesOfRunInputs(const RunInputs& inputs, const replay::Placement& placement);

// True if the error of a run is one of the files that it was given, with inputs or with expected
// results, and says nothing of the module.
bool IsOfGivenFiles(const Error& error, const RunSpec& run);

}  // namespace hloscope::debug
