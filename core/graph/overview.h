// A module in one sentence: how many operations became how many kernels, and what runs where.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/graph/kernel_map.h"
#include "core/graph/lanes.h"

namespace hloscope::graph {

struct Overview {
  bool compiled = false;   // false: what runs where is not decided, and only `operations` counts
  int64_t operations = 0;  // of the first stage: see IsOperation
  LaneCounts lanes = {};
  int64_t no_code = 0;            // instructions of the compiled stage that execute nothing
  int64_t host_bytes = 0;         // between host and device in one run, as far as it is known
  int64_t unknown_transfers = 0;  // moves whose bytes or number is not known
  // What the operations on the host read and write in one run, by shapes: KernelWork::traffic.
  // Where host and device share their memory nothing moves, and it is still that much.
  int64_t host_work_bytes = 0;
  // Some of it is in a loop or branch that runs an unknown number of times.
  bool is_host_work_counted_once = false;
  // What tells most: work on the host, most bytes first, else the kernel that most operations
  // became, of equals the most costly that is no copy; invalid where nothing executes.
  hlo::InstructionId telling;
  int64_t telling_operations = 0;  // inside it
};

// `first` is the first stage of the module, `final_stage` the one that runs; they may be one.
Overview MakeOverview(const hlo::Module& first, const hlo::Module& final_stage,
                      const analysis::Placement& placement);
// The same where the kernels of the final stage are known already.
Overview MakeOverview(const hlo::Module& first, const hlo::Module& final_stage,
                      const analysis::Placement& placement, const KernelMap& map);

// What executes of a compiled module: the counts of an overview, wherever they are shown.
LaneCounts CountLanes(const KernelMap& map);
// "14 kernels, 2 library calls"; "no kernel".
std::string ToText(const LaneCounts& lanes);
// The fields "kernels", "libraries", … of an object.
void WriteLanes(const LaneCounts& lanes, JsonWriter& json);

// "102 operations → 14 kernels, 2 library calls → 1 operation on the host, 8.19 kB moved".
std::string ToSentence(const Overview& overview);

// The object `overview` of `info --json`.
void WriteOverview(const hlo::Module& final_stage, const Overview& overview,
                   const analysis::Placement& placement, JsonWriter& json);

}  // namespace hloscope::graph
