// DataDependencies: which instructions that took time an instruction waits for, by the module
// alone.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::profiler {

class DataDependencies {
 public:
  // `ran`: by instruction, whether it has events.
  DataDependencies(const hlo::Module& module, std::vector<bool> ran)
      : module_(module), ran_(std::move(ran)) {}

  // The nearest that ran among operands and control predecessors, through what makes no events
  // (tuples, bitcasts, parameters of called computations, the body of a loop, element by element).
  // In the order of the instructions; found once for each. Of very wide ones at most the first
  // kMaxVisited instructions are looked at.
  std::span<const hlo::InstructionId> Of(hlo::InstructionId id);
  static constexpr size_t kMaxVisited = 4096;

 private:
  class Walk;

  const hlo::Module& module_;
  const std::vector<bool> ran_;
  std::unordered_map<uint32_t, std::vector<hlo::InstructionId>> known_;
};

}  // namespace hloscope::profiler
