// A dump in figures: what `hloscope info` says and a viewer's first screen shows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/stage_counts.h"

namespace hloscope::dump {

struct StageSummary {
  int32_t file = -1;  // the module was read from it; -1: no file of the stage holds it
  bool read = false;  // the counts are known
  StageCounts counts;
};

struct ModuleSummary {
  std::vector<StageSummary> stages;  // as ModuleEntry::stages
  std::shared_ptr<const KernelTable> kernels;
  std::shared_ptr<const ThunkSequence> thunks;
  std::shared_ptr<const BufferTable> buffers;
  std::map<std::string, int64_t> custom_calls;  // targets and how many, in the final stage
  std::vector<std::string> source_files;        // of the metadata, sorted
};

struct DumpSummary {
  std::vector<ModuleSummary> modules;  // as DumpModel::modules()
  std::shared_ptr<const TensorFlowSummary> tensorflow;
  std::vector<std::string> warnings;  // of the index, and what reading lost, sorted
  std::vector<char> lossy;            // by module: not 0 where reading it gave a warning
};

// Reads what the figures need, on several threads; leaves out the modules for which `skip` (empty,
// or by module) is not 0. Error: stopped.
Result<DumpSummary> Summarize(const DumpModel& model, const OpenOptions& options,
                              const std::vector<char>& skip = {});

}  // namespace hloscope::dump
