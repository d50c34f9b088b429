// What one thread of a kernel did, step by step: the module runs on the simulated GPU up to the
// kernel, and the kernel then by itself on what its operands held, in child processes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"
#include "core/ptx/trace/trace.h"

namespace hloscope::debug {

struct TracedThread {
  ptx::BlockTrace trace;  // of that one thread
  // By step: the fused instruction whose value it makes, by its bits; empty: unknown.
  std::vector<std::string> values_of;
  std::string no_values;               // why none is known; empty: they were looked for
  std::vector<std::string> arguments;  // whose bytes each argument of the kernel has
  std::map<uint32_t, std::vector<int64_t>> steps_of;                // by line of the PTX, in order
  std::map<std::string, std::set<uint32_t>, std::less<>> lines_of;  // by those instructions

  const ptx::ThreadTrace& thread() const { return trace.threads.front(); }
  const ptx::TracedInstruction& InstructionOf(int64_t step) const {
    return trace.instructions[thread().at(step).instruction];
  }
  uint32_t LineOf(int64_t step) const { return InstructionOf(step).line; }
  const std::string& ValueOf(int64_t step) const {
    return values_of[static_cast<size_t>(step - thread().first)];
  }
};

// Traces a thread of a kernel of the module, by its places in the launch, x first. Input errors: no
// such kernel, block or thread; else those of running it.
Result<TracedThread> TraceThread(const std::shared_ptr<const hlo::Module>& module,
                                 const RunSpec& request, const std::string& kernel,
                                 const std::array<uint32_t, 3>& block,
                                 const std::array<uint32_t, 3>& thread,
                                 const std::stop_token& stop);

// "7", "1,0,2": the numbers of a block or thread, without zeros at the end.
std::string IndexText(const std::array<uint32_t, 3>& index);

}  // namespace hloscope::debug
