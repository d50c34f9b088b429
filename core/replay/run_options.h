// RunOptions: all that a platform is told beside the module and its inputs, for compiling and for
// running, in this process and another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/budget.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/algorithm_record.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::replay {

// The part of the user's cache that has what our compiler made of modules.
inline constexpr std::string_view kObjectCacheFolder = "objects";

/// One side of a run: a platform and how it compiles.
struct PlatformSpec {
  std::string name = {};  // empty: none
  std::string python =
      {};  // the environment that its process loads Python packages from; empty: any
  // For platforms that compile: false for a module that went through their passes already, and
  // flags of XLA, by name without dashes.
  bool run_passes = true;
  std::vector<std::pair<std::string, std::string>> xla_flags = {};
};

/// What a module is loaded from and for, on either side of a run.
struct LoadSpec {
  // Made-up elements, from this seed, for constants whose bytes the file does not hold.
  std::optional<uint64_t> fill_elided;
  // For the platform that runs what XLA left in a dump: the file that the module came from, beside
  // which it lies (empty: unknown), or the device to have it compiled for: a name of
  // GpuTargetNames() or a file (empty: none).
  std::string module_file;
  std::string gpu_target;
  // What our compiler made of a module may come from the user's cache and go there.
  bool object_cache = false;
  // Where libraries of a device have several ways to compute an instruction: how one is chosen, and
  // a table of choices that go before all others (libraries/autotune_table.h; of a bundle, empty:
  // none).
  AutotuneMode autotune_mode = AutotuneMode::kByRule;
  std::string choices;
};

/// What a simulated GPU looks for beside accesses outside of memory, and the seed of the order of
/// blocks, warps and lanes of atomics (absent: their own).
struct GpuChecks {
  bool races = false, uninitialised = false;
  std::optional<uint64_t> shuffle = {};
};

/// What is recorded of a run. Results are the same.
struct RecordSpec {
  // How many executions of instructions are told one by one, with lanes and counters; 0: nothing is
  // recorded.
  int64_t steps = 0;
  // On a GPU by its driver: counters of kernels are measured, in one more run.
  bool kernel_metrics = false;
  // On a GPU, of loading too: which lines of our PTX take the time: where a device's program
  // counters stood, in one more run; on a simulated one how often each line was executed.
  bool pc_sampling = false;
  // On a processor: loops that are one function run step by step instead, each told.
  bool loop_steps = false;
};

/// Called for each array that an infeed takes and an outfeed gives, in order; devices may call at
/// the same time. Null: made up, or dropped.
struct FeedCalls {
  std::function<Result<hlo::Literal>(const hlo::Shape&)> take_infeed;
  std::function<Status(const hlo::Literal&)> give_outfeed;
};

struct RunOptions {
  Limits limits = {};
  Budget budget = {};  // of the call at hand; `stop` stays where the caller is
  PlatformSpec platform = {};
  LoadSpec load = {};
  GpuChecks checks = {};
  RecordSpec record = {};
  // NAME=value for the process that runs it; without effect in this process.
  std::vector<std::string> environment = {};
  uint64_t rng_seed = 42;  // of instructions that draw random numbers
  CapturePlan capture = {};
  FeedCalls feeds = {};  // stay where the caller is
};

}  // namespace hloscope::replay
