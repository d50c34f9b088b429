// Platform, Executable and RunSink: the one interface behind which every way of running a module
// stands, in this process or another.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

struct LoadOptions {
  Limits limits;
  // Made-up elements, from this seed, for constants whose bytes the file does not hold.
  std::optional<uint64_t> fill_elided;
  int threads = 0;           // 0: one for each CPU
  int64_t memory_bytes = 0;  // instead of the limit's share of the machine's memory, if positive
  std::optional<std::chrono::steady_clock::time_point> deadline;  // of loading; absent: the limit
  std::stop_token stop;
  // For platforms that compile: false for a module that went through their passes already, and
  // flags of XLA, by name without dashes.
  bool run_passes = true;
  std::vector<std::pair<std::string, std::string>> flags;
  // NAME=value for the process that runs it; without effect in this process.
  std::vector<std::string> environment;
};

struct RunOptions {
  uint64_t rng_seed = 42;    // of instructions that draw random numbers
  int64_t memory_bytes = 0;  // instead of the limit's share of the machine's memory, if positive
  int threads = 0;           // 0: one for each CPU
  std::optional<std::chrono::steady_clock::time_point> deadline;  // instead of the limit
  // What infeeds take and outfeeds give; see eval::EvaluateOptions.
  std::function<Result<hlo::Literal>(const hlo::Shape&)> infeed;
  std::function<Status(const hlo::Literal&)> outfeed;
  eval::Observer* observer = nullptr;  // sees every value; the interpreter alone has one
};

// What a run hands out as it comes, so that nothing has to fit in memory at once.
class RunSink {
 public:
  virtual ~RunSink() = default;
  // Flattened leaf number `leaf` of the result on `device`: its value, or why it has none.
  virtual void OnResult(int64_t device, int64_t leaf, Result<hlo::Literal> value) = 0;
  virtual void OnWarning(std::string_view text) { (void)text; }
};

// The summary of a run.
struct RunResult {
  double run_us = 0;  // from inputs resident to results ready
  int64_t peak_bytes = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // Runs once. `inputs` has one list per device (replica · partitions + partition), or per replica
  // where the module is unpartitioned (Placement::lists): the leaves of all parameters in order;
  // the sink gets results by the same numbers. Errors: the inputs do not fit the parameters, the
  // run was stopped or met a limit (died), no memory. Leaves that could not be computed are not an
  // error here but in the sink.
  virtual Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                                const RunOptions& options, RunSink& sink,
                                std::stop_token stop = {}) = 0;
  // What loading took the platform where it runs in another process; else it is known already.
  virtual std::optional<double> load_ms() const { return std::nullopt; }
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual std::string_view name() const = 0;
  // Makes a module ready to run; an unsupported error names what this platform cannot do.
  virtual Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const LoadOptions& options) = 0;
};

struct PlatformRow {
  std::string_view name;
  std::unique_ptr<Platform> (*make)();
  std::string_view summary;
};
// The rows of platforms.def.
std::span<const PlatformRow> PlatformRows();

// An input error that lists the platforms there are, where `name` is none of them and no
// pjrt:FILE.so.
Status CheckPlatform(std::string_view name);
// That platform in this process. Workers serve it; worker_platform.h has the one they are used by.
Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name);

// The shapes of the entry's parameters, in order.
std::vector<hlo::Shape> ParameterShapes(const hlo::Module& module);

}  // namespace hloscope::replay
