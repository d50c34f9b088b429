// RunSpec: what runs on what, as a value; runs derived from another are made of its parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/budget.h"
#include "core/base/limits.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/explain/nonfinite/find_nonfinite.h"
#include "core/debug/run/isolate.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_options.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::debug {

class RunRecorder;

/// What a module runs on: files, a literals file or arguments, in this order; else generated.
struct InputSpec {
  std::vector<std::string> files = {};       // --inputs
  std::string literals_file = {};            // --input_literals_file
  std::vector<hlo::Literal> arguments = {};  // of a snapshot, one per parameter
  std::vector<std::string> infeed = {};      // --infeed; empty: what infeeds take is generated
  std::string constants = {};                // --constants, whose values the module has taken
  std::vector<std::string> shapes = {};      // --shape NAME=N, of a program with symbolic shapes
  // Of generated inputs; those of iteration i come from seed + i.
  uint64_t seed = 0;
  bool random = true;         // false: zeros
  bool large_floats = false;  // --use_large_float_range
  bool edge_values = false;
  bool flush_denormals = false;  // of results too

  /// From the seed and the switches below it.
  bool are_generated() const {
    return files.empty() && literals_file.empty() && arguments.empty() && infeed.empty();
  }
  /// The same, but these arguments instead of files; none: generated from the seed.
  InputSpec With(std::vector<hlo::Literal> values) const;
};

/// What results are compared with, and what else is looked for.
struct CompareSpec {
  std::vector<std::string> expect = {};       // --expect; empty: nothing to compare with
  std::optional<hlo::Literal> recorded = {};  // a snapshot's result: expected where nothing else is
  BoundsRequest bounds = {};
  bool same_bits = false;   // --bits: repeated runs must agree in every bit
  bool precise = false;     // --precise: how far each side is from the value in double precision
  bool isolate = false;     // --isolate_instructions, before the module as a whole
  bool statistics = false;  // of values go into what isolate reports
  std::optional<NonFiniteKind> find = {};  // --find
  bool hints = false;  // warnings name options that explain differences; may run once more
};

/// How often a module runs.
struct RepeatSpec {
  int64_t iterations = 1;               // each on inputs of its own
  int64_t runs = 1;                     // of each iteration, to be compared
  uint64_t rng_seed = 42;               // of instructions that draw random numbers
  bool different_random_seeds = false;  // instead: they draw from seed i + 1
};

/// How it runs; what it may take is its Budget.
struct ExecutionSpec {
  bool verify = true;           // false: --no-verify
  bool host_fallback = false;   // --fallback cpu: what a platform refuses runs on the host
  bool late_callbacks = false;  // --skip-callbacks: those left fail only where they are executed
  bool names_refused = false;   // what a platform refuses is named; trying parts takes time
  std::vector<std::string> environment;         // NAME=value for the processes that run it
  std::shared_ptr<replay::WorkerPool> workers;  // null: everything in this process
};

struct RunSpec {
  replay::PlatformSpec test{.name = std::string(replay::ReferencePlatform().name)};
  replay::PlatformSpec reference;  // without a name: there is none
  replay::LoadSpec load;
  replay::GpuChecks checks;
  InputSpec inputs;
  CompareSpec compare;
  RepeatSpec repeats;
  Budget budget;  // `seconds` of the whole, from its start unless there is a deadline
  Limits limits;
  ExecutionSpec execution;
  std::vector<std::string> notes;  // go into the report's warnings
};

/// How long it may take, and when one that starts now has to end.
double SecondsOf(const RunSpec& run);
std::chrono::steady_clock::time_point DeadlineOf(const RunSpec& run);
/// Starting a GPU's driver, compiler and libraries takes what no run does. Loading a module there
/// has the time of a run to itself, and runs have theirs.
bool LoadsApart(std::string_view platform);

/// Files that a run writes; empty: not asked.
struct OutputFiles {
  std::string inputs = {};    // --save_inputs F.npz
  std::string outputs = {};   // --outputs DIR|F.npz
  std::string outfeed = {};   // --outfeed F.npz; empty: what outfeeds give is dropped
  std::string literals = {};  // --output_literals_file
};

/// Where else than into its report what comes of a run goes. Derived runs have none.
struct RunSinks {
  OutputFiles files = {};
  std::function<void(const InstructionReport&)> on_instruction = {};  // of isolate, as they come
  std::function<void(const replay::RunProgress&)> on_progress = {};  // as it comes, from any thread
  RunRecorder* recorder = nullptr;  // takes a profile of the runs; null: none is made
  replay::RecordSpec record = {};   // what the profile has; the recorder says how many steps
  bool measure_recording = false;   // each recorded run is repeated unrecorded, alternately
};

/// A run derived from `run`, with its budget: of this platform on these inputs, compared with
/// nothing; bounds and seeds stay.
RunSpec DerivedSpec(const RunSpec& run, replay::PlatformSpec test, InputSpec inputs);
/// One of a module on its own, which is sound, on these arguments. The platform compiles as the one
/// of `run` does, whatever its name.
RunSpec AloneSpec(const RunSpec& run, std::string platform, std::vector<hlo::Literal> arguments);
/// What `run` tests on another platform.
replay::PlatformSpec TestOn(const RunSpec& run, std::string_view platform);

/// The options of the platform of a run, and of its reference. As run_hlo_module: the reference
/// compiles without fast mathematics, whatever the flags of the other; they have one Python
/// environment unless the reference names its own.
replay::RunOptions TestOptions(const RunSpec& run);
replay::RunOptions ReferenceOptions(const RunSpec& run);

}  // namespace hloscope::debug
