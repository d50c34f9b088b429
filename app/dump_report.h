// What `info` says about a dump directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/debug/placement.h"
#include "core/dump/dump_summary.h"

namespace hloscope::app {

struct DumpReport {
  std::shared_ptr<const dump::DumpModel> model;
  dump::DumpSummary summary;
  // The compiled form of each module, null where it cannot be read, and where its parts run.
  std::vector<std::shared_ptr<const hlo::Module>> compiled;
  std::vector<debug::Placement> placements;
};

// Reads what the report needs. Errors: as DumpModel::Open and dump::Summarize.
Result<DumpReport> MakeDumpReport(const std::string& path, const Limits& limits,
                                  const dump::OpenOptions& options);

// For people, and as one JSON object with a line end.
std::string DumpText(const DumpReport& report);
std::string DumpJson(const DumpReport& report);

// "12 B", "34.5 kB", "1.2 MB".
std::string BytesText(int64_t bytes);

}  // namespace hloscope::app
