// BenchRun: how long platforms take to compile and to run one module, and how much memory, side by
// side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/run/run_ratio.h"
#include "core/hlo/module.h"
#include "core/replay/run_options.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::debug {

struct BenchRequest {
  replay::RunOptions options;  // flags of XLA count on the platforms that take them
  std::string platform{replay::ReferencePlatform().name};
  std::string against;  // empty: nothing beside it
  // Beside `against` another worker of it: how far apart two measurements of the same are.
  bool against_itself = false;
  uint64_t seed = 0;    // of made-up inputs
  double seconds = 2;   // of running, all platforms together; each runs at least kMinRuns times
  int64_t repeats = 0;  // runs of each platform instead of `seconds`, if positive
  // Of the workers that each side gets one of.
  replay::WorkerPoolOptions workers;
};

// Medians of one platform's worker: compiling again and again, and runs with inputs resident until
// results are ready.
struct BenchFigures {
  double compile_ms = 0;
  double run_us = 0;
  int64_t compiles = 0, runs = 0;
  // The most bytes that the worker process held while it compiled and while it ran, all of it:
  // program, libraries, module, inputs and results too. `idle` is what it held before, with its
  // compiler loaded by a small module, which a plan needs none of. Not there where `why_no_memory`
  // says why.
  struct Memory {
    int64_t idle = 0, compile_peak = 0, run_peak = 0;
  };
  std::optional<Memory> memory;
  std::string why_no_memory;
};

struct BenchReport {
  BenchFigures platform;
  std::optional<BenchFigures> against;
  std::optional<RunRatio> run_ratio;       // of the platform to `against`
  std::optional<RunRatio> against_itself;  // of another worker of `against` to that one
  // With `against`: where the results of both are apart by more than the bounds of a replay.
  std::optional<LeafComparison> difference;
  std::vector<std::string> warnings;  // of inputs and runs, each once
};

inline constexpr int64_t kMinRuns = 3;

// Compiles and runs in turns, one platform while the others idle, after one run of each that does
// not count. Fails where the module is not sound or a platform cannot run it.
Result<BenchReport> BenchRun(const std::shared_ptr<const hlo::Module>& module,
                             const BenchRequest& request, const std::stop_token& stop);

}  // namespace hloscope::debug
