// DifferencePaths: whether a value that differs leads to a result that differs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::debug {

// A path goes from an instruction to its users and ends at one whose value was compared and agrees.
// What control flow runs leads to wherever its caller leads.
class DifferencePaths {
 public:
  // `differs`: by instruction, whether a value of it differs beyond the bounds; `results`: numbers
  // of the results that do.
  DifferencePaths(const hlo::Module& module, const std::vector<bool>& differs,
                  std::span<const int64_t> results);
  bool LeadsToResult(hlo::InstructionId id) const { return leads_[id.index]; }

 private:
  void Enter(const hlo::Module& module, hlo::ComputationId callee);

  std::vector<bool> leads_;    // by instruction
  std::vector<bool> entered_;  // by computation
};

// Those of `results` that such a path leads to from the instruction; where it is in the entry, from
// those `leaves` of its value, by number (none: all).
std::vector<int64_t> ResultsFrom(const hlo::Module& module, hlo::InstructionId from,
                                 const std::vector<bool>& differs, std::span<const int64_t> results,
                                 std::span<const int64_t> leaves = {});

// The same, taken out of `results`.
std::vector<int64_t> TakeResultsFrom(const hlo::Module& module, hlo::InstructionId from,
                                     const std::vector<bool>& differs,
                                     std::vector<int64_t>& results,
                                     std::span<const int64_t> leaves = {});

}  // namespace hloscope::debug
