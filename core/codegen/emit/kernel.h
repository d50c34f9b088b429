// Kernel: what a kernel is made of, whether it is a fusion or a single instruction.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "core/compile/plan/plan.h"
#include "core/hlo/module.h"
#include "core/hlo/window.h"

namespace hloscope::codegen {

// What a kernel is written for.
enum class Machine : uint8_t {
  kCpu,  // vectors of lanes, grains that are worth handing to a thread
  kGpu,  // one lane and the smallest grains: each thread has one
};

// What kernels overwrite, by instruction.
using Overwritten = std::unordered_map<uint32_t, compile::OverwrittenOperands>;

struct Kernel {
  const hlo::Module& module;
  hlo::InstructionId id;
  Machine machine;
  std::vector<hlo::InstructionId> roots;       // what it yields; of a reduce of several arrays, it
  std::vector<hlo::InstructionId> parameters;  // by operand: what stands for it among the rest
  std::vector<hlo::InstructionId> instructions;  // all but parameters, operands before users
  // Operands in whose memory results may be made: elements have been read there when others are
  // written. Of one loop over elements on a CPU alone.
  compile::OverwrittenOperands overwritten = {};

  Kernel(const hlo::Module& m, hlo::InstructionId kernel, Machine for_machine = Machine::kCpu);
  Kernel(const hlo::Module& m, hlo::InstructionId kernel, const Overwritten& by_kernel);  // a CPU's
  bool is_for_gpu() const { return machine == Machine::kGpu; }
  bool IsParameter(hlo::InstructionId i) const;
  bool IsOverwritten(size_t operand) const;
};

// The window of the kernel's root, of so many dimensions; trivial where it has none.
std::vector<hlo::WindowDimension> WindowOf(const Kernel& kernel, size_t rank);

// A text that is the same for kernels that the same code computes.
std::string KeyOf(const Kernel& kernel);

}  // namespace hloscope::codegen
