// fusion_decisions.txt of our own compiler: which instructions share a kernel, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

struct FusionDecision {
  std::string producer, consumer;  // names of the stage that FusionDecisions has
  bool is_fused = false;
  std::string reason;  // "3 users, 18 MB recomputed"
  int32_t line = 0;    // in the file, from 1
};

struct FusionDecisions {
  int32_t file = -1;        // of DumpModel::files(); -1: this module has none
  std::string stage;        // whose instructions they are about
  std::string why_no_plan;  // it runs instruction by instruction; empty: it has a plan
  std::vector<FusionDecision> decisions;
  int32_t unread_lines = 0;  // among the decisions that say something else
};

// What the text says; `file` is left open.
FusionDecisions ReadFusionDecisions(std::string_view text);

}  // namespace hloscope::dump
