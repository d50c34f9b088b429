// `run --trace KERNEL:BLOCK:THREAD`: what one thread of a kernel on a simulated GPU does, line by
// line.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::app {

struct TraceSpec {
  std::string kernel;  // or the instruction that launches it
  std::array<uint32_t, 3> block{}, thread{};
  int64_t execution = 0;  // of the instruction, from 0
};

// "fusion_3:2:17", "fusion_3:0,1,0:4,2,0", with ":N" behind it in execution N. Input error: else.
Result<TraceSpec> ReadTraceSpec(std::string_view text);

// Runs the module until the kernel has its operands, then prints the steps of the thread as they
// come: a line each, as JSON where `json`. Errors: no such kernel, block or thread, with those that
// there are; those of the run.
Status TraceKernel(const TraceSpec& spec, const std::shared_ptr<const hlo::Module>& module,
                   const debug::RunSpec& request, bool json, const std::stop_token& stop);

}  // namespace hloscope::app
