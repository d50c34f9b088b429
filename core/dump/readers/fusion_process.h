// FusionProcess: the decisions of XLA:GPU's priority fusion, *.priority_fusion_dump.txt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hloscope::dump {

struct FusionStep {
  enum class Kind : uint8_t { kFusion, kIneligible, kPriority };
  Kind kind = Kind::kFusion;
  std::string producer;
  std::string consumer;                // of a fusion
  std::string fusion;                  // of a fusion: what the consumer is called after it
  std::string reason;                  // of an ineligible producer
  std::vector<std::string> consumers;  // of a priority
  double us_fused = 0, us_unfused = 0;
};

struct FusionProcess {
  std::vector<FusionStep> steps;
  std::string module_before;  // HLO text
  // Of the device that the cost model assumed: "clock_rate_ghz", "1.98".
  std::vector<std::pair<std::string, std::string>> device;
  std::string why;  // where the text breaks off; empty: it does not
};
FusionProcess ReadFusionProcess(std::string_view text);

}  // namespace hloscope::dump
