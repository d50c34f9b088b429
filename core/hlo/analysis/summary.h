// A module in a few figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

struct ModuleSummary {
  size_t instructions = 0, computations = 0, elided_constants = 0;
  std::vector<std::string> parameters;  // shapes of the entry computation
  std::string result;
  int64_t parameter_bytes = 0, result_bytes = 0;             // 0 where a size overflows
  std::vector<std::pair<std::string_view, size_t>> opcodes;  // most frequent first
};

ModuleSummary Summarize(const Module& module);

// The constants whose values the file does not have (`constant({...})`), in order.
std::vector<InstructionId> ElidedConstants(const Module& module);

}  // namespace hloscope::hlo
