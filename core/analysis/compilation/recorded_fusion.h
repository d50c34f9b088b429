// RecordedFusion: what XLA:GPU's priority fusion wrote into a dump, carried out over its module.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/compilation/fusion_replay.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

inline constexpr std::string_view kPriorityFusion = "priority-fusion";

struct RecordedFusion {
  dump::FusionProcess read;
  std::shared_ptr<const hlo::Module> before;
  std::unique_ptr<FusionReplay> replay;
  int32_t stage_after = -1, stage_before = -1;      // of the dump; -1: there is none
  std::shared_ptr<const hlo::Module> with_sources;  // the stage before the pass; may be null
  std::vector<std::string> notes;
  std::optional<bool> agrees;

  std::string SourceOf(const std::string& name) const;
  // What XLA estimated of a producer. The first record since something was fused into it counts all
  // of its users; those after it only the users that changed since the record before.
  struct Estimates {
    const dump::FusionStep* whole = nullptr;   // null: none was written
    const dump::FusionStep* latest = nullptr;  // of the users that changed; null: there is none
  };
  // As they stood before the step at `position` of the list; by default at its end.
  Estimates EstimatesOf(std::string_view producer, size_t position = SIZE_MAX) const;
};

// Absent where the dump has none. Errors: a file or the module in it cannot be read.
Result<std::optional<RecordedFusion>> ReadRecordedFusion(const dump::DumpModel& model,
                                                         int32_t module);

// That a module has no decisions at all, and how to get them.
std::unexpected<Error> NoDecisions(const dump::DumpModel& model, int32_t module);

std::string EstimateText(double us_fused, double us_unfused);

}  // namespace hloscope::analysis
