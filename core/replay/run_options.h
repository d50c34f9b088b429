// RunOptions: all that a platform is told beside the module and its inputs, for compiling and for
// running, in this process and another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/algorithm_record.h"
#include "core/replay/capture/capture_plan.h"

namespace hloscope::replay {

// The part of the user's cache that has what our compiler made of modules.
inline constexpr std::string_view kObjectCacheFolder = "objects";

struct RunOptions {
  // Of loading.
  Limits limits;
  // Made-up elements, from this seed, for constants whose bytes the file does not hold.
  std::optional<uint64_t> fill_elided;

  // Of loading and of running: what the call at hand may take.
  int threads = 0;           // 0: one for each CPU
  int64_t memory_bytes = 0;  // instead of the limit's share of the machine's memory, if positive
  std::optional<std::chrono::steady_clock::time_point> deadline;  // absent: the limit

  // Of loading, for platforms that compile: false for a module that went through their passes
  // already, and flags of XLA, by name without dashes.
  bool run_passes = true;
  std::vector<std::pair<std::string, std::string>> xla_flags;
  // Of loading, for the platform that runs what XLA left in a dump: the file that the module came
  // from, beside which it lies (empty: unknown), or the device to have it compiled for: a name of
  // GpuTargetNames() or a file (empty: none).
  std::string module_file;
  std::string gpu_target;
  // Of running, for platforms that simulate a GPU: what is looked for beside accesses outside of
  // memory, and the seed of the order of blocks, warps and lanes of atomics (absent: their own).
  bool check_races = false, check_uninitialised = false;
  std::optional<uint64_t> shuffle;
  // Of loading: what our compiler made of a module may come from the user's cache and go there.
  bool object_cache = false;
  // Of loading, where libraries of a device have several ways to compute an instruction: how one is
  // chosen, and a table of choices that go before all others (libraries/autotune_table.h; of a
  // bundle, empty: none).
  AutotuneMode autotune_mode = AutotuneMode::kByRule;
  std::string choices;
  // NAME=value for the process that runs it; without effect in this process.
  std::vector<std::string> environment;

  // Of running.
  uint64_t rng_seed = 42;  // of instructions that draw random numbers
  CapturePlan capture;
  // Of running: how many executions of instructions are told one by one, with lanes and counters;
  // 0: nothing is recorded. Results are the same.
  int64_t record_steps = 0;
  // Of running, where steps are recorded on a GPU by its driver: counters of kernels are measured,
  // in one more run.
  bool kernel_metrics = false;
  // Of loading and of running, where steps are recorded on a GPU: which lines of our PTX take the
  // time: where a device's program counters stood, in one more run; on a simulated one how often
  // each line was executed.
  bool pc_sampling = false;

  // These stay where the caller is. Feeds are called for each array that an infeed takes and an
  // outfeed gives, in order; devices may call at the same time. Null: made up, or dropped.
  std::function<Result<hlo::Literal>(const hlo::Shape&)> take_infeed;
  std::function<Status(const hlo::Literal&)> give_outfeed;
  std::stop_token stop;
};

}  // namespace hloscope::replay
