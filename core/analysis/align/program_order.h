// Pairs of what is alike on both sides of an alignment, by places in the program.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// The order of a program: files print what was fused last first.
class ProgramOrder {
 public:
  ProgramOrder(const hlo::Module& before, const hlo::Module& after);

  // Instructions (before, after) of one key, in order, where as many on both sides have it. Keys
  // are by instruction; 0: it is not looked at.
  std::vector<std::pair<uint32_t, uint32_t>> Pairs(std::span<const uint64_t> keys_before,
                                                   std::span<const uint64_t> keys_after) const;

 private:
  std::vector<uint32_t> places_before_, places_after_;
};

}  // namespace hloscope::analysis
