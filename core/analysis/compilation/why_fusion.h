// Why two instructions are in one kernel or not, and how a fusion was made: by the decisions that a
// compiler wrote into its dump.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

struct FusionEstimate {
  double us_fused = 0, us_unfused = 0;
  std::vector<std::string> consumers;  // that it is for, all together
};

// A decision that an answer rests on.
struct FusionReason {
  std::string producer, consumer;
  std::string source;  // of the producer
  std::string text;    // "step 31: fused, 1.9 us fused and 3.4 us apart"
  int64_t step = 0;    // from 1; of our own compiler the line of the file
};

struct FusionAnswer {
  std::string status;   // "fused", "not_fused", "made", "unknown"
  std::string made_by;  // the pass; empty: not known
  int64_t step = 0;     // of the decision; 0: none
  std::string place;    // "stderr.log:48": of a decision in a log, whose `step` is the line
  std::string reason;
  // The reason is about these two, and not about another user or about another module.
  bool is_certain = true;
  std::optional<FusionEstimate> estimate;
  std::vector<FusionReason> because;
  std::vector<std::string> notes;
  // The decisions replayed over the module before against the one after; absent: there is none.
  std::optional<bool> replay_agrees;
};

// Why `producer` is not in the kernel of `consumer`; names are those before fusion or after it.
// Errors: the dump has no decisions, or no instruction of a name.
Result<FusionAnswer> WhyNotFused(const std::shared_ptr<const dump::DumpModel>& model,
                                 int32_t module, const std::string& producer,
                                 const std::string& consumer);
// Which decisions made a fusion, in their order; `fusion` is a name of the compiled module or of
// the one after priority fusion.
Result<FusionAnswer> WhyFusion(const std::shared_ptr<const dump::DumpModel>& model, int32_t module,
                               const std::string& fusion);

}  // namespace hloscope::analysis
