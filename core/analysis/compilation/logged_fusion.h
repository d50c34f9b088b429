// The decisions of XLA's instruction fusion in the logs of a dump: XLA:CPU writes them nowhere
// else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/compilation/why_fusion.h"

namespace hloscope::analysis {

struct LoggedFusion {
  std::string producer, consumer;  // names at that time
  std::string fusion;              // the new one, or the consumer it went into; empty: not fused
  std::string reason;              // where it is not fused
  int64_t line = 0;                // of the log, from 1
  std::string log;                 // its path in the dump; empty: not known
};

/// Lines of `TF_CPP_VMODULE=instruction_fusion=3`, in their order; others are left out.
std::vector<LoggedFusion> ReadFusionLog(std::string_view log);
/// Of all logs of the dump; `log` is the file.
std::vector<LoggedFusion> LoggedFusionsOf(const dump::DumpModel& model);

/// WhyNotFused and WhyFusion by the logs of the dump; nullopt: they have no decisions. `because` is
/// empty where none is about these instructions.
std::optional<FusionAnswer> LoggedNotFused(const dump::DumpModel& model,
                                           const std::string& producer,
                                           const std::string& consumer);
std::optional<FusionAnswer> LoggedDecisionsOf(const dump::DumpModel& model,
                                              const std::string& fusion);

}  // namespace hloscope::analysis
