// Pass ranking: the stages of a module by how much each changed, and what made them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/align/pass_changes.h"
#include "core/dump/dump_model.h"
#include "viewer/model/anchor.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

/// How the passes are listed.
struct PassMarks {
  bool by_change = false;   // most changed first
  std::set<int32_t> asked;  // modules whose stages are all to be compared, however many
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>&) {
    asked = FindModules(now, before, asked);
  }
};

// The stages of a module by how much each changed.
struct PassRanking {
  std::vector<analysis::ChangeCounts> counts;  // by stage
  std::vector<int32_t> order;                  // stages that changed anything, most first
};
const Pending<PassRanking>& RankingOf(
    Context& context, int32_t module,
    analysis::Annotations annotations = analysis::Annotations::kCounted);
// Whether reading all stages of the module takes no while, or was asked for; false too while that
// is not known.
bool MayReadAllStages(Context& context, int32_t module);
// "12 added, 3 removed, 1 rewritten"; empty where nothing changed.
std::string CountsText(const analysis::ChangeCounts& counts);

// The name of what made a stage, as short as it is clear. What is written at the start of a nested
// pipeline was changed by the pass that runs it: "spmd-partitioning (up to spmd-cleanup)".
std::string PassName(const dump::ModuleEntry& entry, int32_t stage);
// That of a pass, which `stage` is in the dump of.
bool IsMadeByPass(const dump::ModuleEntry& entry, int32_t stage);

}  // namespace hloscope::viewer
