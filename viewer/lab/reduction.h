// Reduction: a failing module, reduced in the background, and the result.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/debug/reduce/reduce_module.h"
#include "viewer/lab/failing_run.h"
#include "viewer/model/anchor.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

// How far it is.
struct ReductionProgress {
  std::string reduction;  // what is tried now
  int64_t tries = 0;
  size_t before = 0, instructions = 0;
  std::shared_ptr<const hlo::Module> smallest;  // null: nothing smaller yet
  std::string failure;                          // a sentence
  struct Step {
    int64_t tries = 0;
    size_t instructions = 0;
  };
  std::vector<Step> steps;  // each smaller than the one before
};

struct Reduction {
  StageAnchor place;  // of the run
  FailingRun run;
  Pending<debug::ReduceReport> report;  // ready also where it was stopped
  // Written from the thread that reduces.
  struct Feed {
    std::mutex mutex;
    ReductionProgress progress;
  };
  std::shared_ptr<Feed> feed = std::make_shared<Feed>();
  ReductionProgress Progress() const;
};

/// The last of each module.
struct Reductions {
  std::vector<std::shared_ptr<Reduction>> all;
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost);
};

// Starts the run that FailingRunOf names again; a message says why where it names nothing.
void StartReduction(Context& context, int32_t module);
// Stops it; the smallest so far stays.
void StopReduction(Context& context, int32_t module);
// The last one of that module; null: none.
const Reduction* ReductionOn(Context& context, int32_t module);

// Writes the smallest module, and its inputs next to it if they are not those of the seed.
Result<std::string> SaveReduced(const debug::ReduceReport& report, const std::string& path);

}  // namespace hloscope::viewer
