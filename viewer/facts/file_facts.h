// What the list of a dump's files says: found once for each reading, as frames ask for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/dump/dump_model.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct FileFacts {
  std::shared_ptr<const dump::DumpModel> of;
  std::vector<std::string> traces;                              // by profiler::PreferredTraces
  std::map<dump::FileRole, std::pair<int64_t, int64_t>> roles;  // how many, and their bytes
};

// Of the dump that is open and read.
const FileFacts& FileFactsOf(const Context& context);

std::vector<std::string> TracesIn(const dump::DumpModel& dump);

// Of a folder that was given to jax.profiler.trace, beside a dump, its traces; empty: it is no such
// folder, or has files of its own, as a dump has.
std::vector<std::string> TracesOfFolder(const std::string& path, const Limits& limits);

}  // namespace hloscope::viewer
