// LoadedProgram: a DeviceProgram whose code is decoded and whose launches know their arguments.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backends/gpusim/device_program.h"
#include "core/base/result.h"
#include "core/ptx/ptx.h"
#include "profiler/device_facts.h"

namespace hloscope::replay {

struct LoadedProgram {
  DeviceProgram program;
  std::vector<ptx::Module> code;  // by DeviceProgram::code
  hlo::Shape result_shape;        // of the module that was given
  // By kernel and parameter, of kernels that take tensor maps.
  std::map<std::string, std::vector<std::optional<ptx::TensorMap>>, std::less<>> maps = {};
  profiler::DeviceFacts device = {};  // that the kernels were compiled for; of no name: not known
};

// Decodes the code for a module with that result and counts the parameters of every kernel. Errors:
// unsupported, an instruction that the simulated GPU does not know, with file and line; input, a
// kernel that takes another number of arguments than its instruction has arrays, another number of
// results.
Result<LoadedProgram> LoadProgram(DeviceProgram program, hlo::Shape result_shape);

// The arguments of a kernel that takes `count`: the arrays of all operands, then those of the
// result. XLA before 2026 names a slice that comes twice only once, and gives a sort its results
// alone. Input error: none of these has that many.
Result<std::vector<Slice>> ArgumentsOf(const DeviceStep& step, size_t count);

}  // namespace hloscope::replay
