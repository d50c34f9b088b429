// RunModule: one replay from files to verdict, everything `hloscope run` prints. The command line
// fills in a RunRequest and prints the RunReport; nothing here prints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/precise_distance.h"
#include "core/debug/explain/nonfinite/find_nonfinite.h"
#include "core/debug/run/isolate.h"
#include "core/debug/run/run_recorder.h"
#include "core/hlo/module.h"
#include "core/replay/platform.h"
#include "core/replay/workers/worker_pool.h"

namespace hloscope::debug {

// Its RunOptions are those of `platform`; `deadline`, `capture` and what stays with the caller are
// filled in by the replay.
struct RunRequest : replay::RunOptions {
  std::string platform{replay::ReferencePlatform().name};
  std::string reference_platform;  // empty: none
  std::string reference_python;    // --reference_python; empty: the same as the platform's
  std::vector<std::pair<std::string, std::string>> reference_flags;  // --reference_flag, of XLA
  std::vector<std::string> inputs;       // --inputs; empty: `arguments`, or made up from `seed`
  std::string input_literals;            // --input_literals_file; empty: none
  std::vector<hlo::Literal> arguments;   // of a snapshot, one per parameter; empty: none
  std::optional<hlo::Literal> recorded;  // a snapshot's result: expected where nothing else is
  std::vector<std::string> infeed;       // --infeed; empty: what infeeds take is made up
  std::string outfeed;                   // --outfeed F.npz; empty: what outfeeds give is dropped
  std::vector<std::string> expect;       // --expect; empty: nothing to compare with
  std::string save_inputs;               // --save_inputs F.npz; empty: not asked
  std::string outputs;                   // --outputs DIR|F.npz; empty: not asked
  std::string output_literals;           // --output_literals_file; empty: not asked
  uint64_t seed = 0;
  bool large_floats = false;  // --use_large_float_range, of made-up inputs
  bool edge_values = false;   // --edge_values, of made-up inputs
  BoundsRequest bounds;
  int64_t iterations = 1;                  // made-up inputs of iteration i come from seed + i
  bool different_random_seeds = false;     // instructions draw from seed i + 1, not always 42
  int64_t repeat = 1;                      // how often each iteration runs, to be compared
  bool same_bits = false;                  // --bits: repeated runs must agree in every bit
  bool random_inputs = true;               // --random_init_input_literals; false: zeros
  bool flush_denormals = false;            // --denormals flush
  std::optional<double> deadline_seconds;  // --deadline, of the whole replay; absent: the limit
  bool verify = true;                      // false: --no-verify
  bool reference_passes = true;            // --run_reference_hlo_passes
  bool precise = false;     // --precise: how far each side is from the value in double precision
  bool isolate = false;     // --isolate_instructions, before the module as a whole
  bool statistics = false;  // of values go into what isolate reports
  std::function<void(const InstructionReport&)> on_instruction;  // of isolate, as they come
  std::optional<NonFiniteKind> find;                             // --find
  std::function<void(const replay::RunProgress&)> on_progress;   // as it comes, from any thread
  std::vector<std::string> notes;                                // go into the report's warnings
  std::shared_ptr<replay::WorkerPool> workers;                   // null: everything in this process
  bool names_refused = false;       // what a platform refuses is named; trying parts takes time
  bool host_fallback = false;       // --fallback cpu: it runs on the host, by the evaluator
  RunRecorder* recorder = nullptr;  // takes a profile of the runs; null: none is made
  bool measure_recording = false;   // each recorded run is repeated unrecorded, in turns
};

enum class RunStatus : uint8_t { kEqual, kDiffers, kRan, kUnsupported, kError, kDied };
// "equal", "differs", "ran", "unsupported", "error", "died".
std::string_view ToString(RunStatus status);

/// kDied where IsExecutionFailure, else kUnsupported or kError.
RunStatus StatusOf(const Error& error);

struct RunTiming {
  double load_ms = 0;     // inputs read or made up
  double compile_ms = 0;  // the platform's Load
  std::vector<double> run_us;
  std::vector<double> unrecorded_us;  // of runs for comparison where others are recorded
  int64_t peak_bytes = 0;
};

// How far one side's value of a result is from the precise one.
struct PreciseSide {
  std::string side;  // the platform's name, or "expected"
  PreciseDistance distance;
};

// One leaf of the result. `comparison` has its index, shape and, if `compared`, how it compares.
struct RunOutput {
  LeafComparison comparison;
  bool compared = false;
  std::optional<Error> missing;      // why there is no value
  hlo::Literal value;                // of the first iteration
  std::vector<PreciseSide> precise;  // --precise: the platform, then what it is compared with
  int64_t iteration = 0;  // that `comparison` is of: the first that differs, or the first
};

// How runs on the same inputs compare.
struct RepeatReport {
  int64_t runs = 0;
  bool same_bits = false;                // what was asked for
  std::optional<int64_t> differing_run;  // the first, counted from 0, that differs from run 0
  int64_t iteration = 0;                 // where that was
  std::optional<LeafComparison> difference;
};

struct RunReport {
  std::string module;  // the module's name
  std::string platform, reference;
  RunStatus status = RunStatus::kError;
  uint64_t seed = 0;
  bool generated_inputs = false;
  int64_t iterations_ran = 0;  // whole ones
  std::vector<std::pair<std::string, std::string>> xla_flags;
  bool against_recorded = false;  // compared with the result recorded beside the inputs
  std::vector<RunOutput> outputs;
  RunTiming timing;
  std::optional<RunTiming> reference_timing;
  std::optional<RepeatReport> repeat;
  std::optional<InstructionReport> first_divergent;  // of isolate
  std::optional<NonFinite> first_nonfinite;          // --find, on the interpreter
  std::optional<NonFiniteKind> found_no_nonfinite;   // --find looked for that, in vain
  std::vector<replay::RunFallback> fallbacks;        // each as often as it happened
  std::vector<replay::RunFinding> checks;            // what checks of a simulated GPU found
  std::optional<replay::RunExecuted> executed;       // of platforms that tell it: the last run's
  std::vector<std::string> warnings;    // "out3 is not among the expected values: not compared" …
  std::optional<Error> error;           // for kUnsupported, kError and kDied: the first
  bool recording_changed_bits = false;  // of a result, which would be a fault of ours
  std::vector<hlo::Literal> arguments;  // what it ran on, one per parameter, devices together
};

/// The status in words; of kDied with its cause: "died (deadline exceeded)".
std::string StatusText(const RunReport& report);

// Runs `module` as asked. Never fails itself: what goes wrong is the report's status and error. An
// iteration, repetition or isolated instruction that dies is lost alone: the error names the first,
// warnings the others, and all that finished is kept.
// Status: died, error, unsupported (in this order) if the run or an output has none better;
// otherwise differs or equal where something was compared, else ran.
RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunRequest& request,
                    std::stop_token stop = {});

// A module loaded once, with the request's capture plan, to be run on the inputs that the request
// means as often as one likes; each run's plan wants no more than the loaded one does.
class CaptureSession {
 public:
  // Fails as the run would before it runs: unsupported where the platform cannot serve the plan.
  static Result<CaptureSession> Open(std::shared_ptr<const hlo::Module> module,
                                     const RunRequest& request, std::stop_token stop = {});
  CaptureSession(CaptureSession&&) noexcept;
  ~CaptureSession();

  // What comes of it goes to `stream`.
  Result<replay::RunResult> Run(const replay::CapturePlan& plan, replay::RunStream& stream);
  // The leaves of all parameters, by device as the platform numbers them.
  const std::vector<std::vector<hlo::Literal>>& inputs() const;
  double load_ms() const;

 private:
  struct State;
  explicit CaptureSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Runs `module` once on its platform, on the inputs that the request means, with its capture plan;
// what comes of it goes to `stream`. Fails as the run does.
Result<replay::RunResult> RunCapturing(std::shared_ptr<const hlo::Module> module,
                                       const RunRequest& request, replay::RunStream& stream,
                                       std::stop_token stop = {});

}  // namespace hloscope::debug
