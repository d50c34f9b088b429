// RunModule: one replay from files to verdict, everything `hloscope run` prints. The command line
// fills in a RunSpec and prints the RunReport; nothing here prints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/compare/compare_values.h"
#include "core/debug/compare/precise_distance.h"
#include "core/debug/explain/nonfinite/find_nonfinite.h"
#include "core/debug/run/isolate.h"
#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

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

// What the expected values are called next to platforms.
inline constexpr std::string_view kExpectedSide = "expected";

// One leaf of the result. `comparison` has its index, shape and, if `compared`, how it compares.
// With expected values and a reference platform there are two comparisons: `comparison` is the one
// that differs, of two alike that with the expected values, and `other` is the other one.
struct RunOutput {
  LeafComparison comparison;
  bool compared = false;
  std::string against;  // of two: "expected" or the platform that `comparison` is with, else empty
  std::optional<LeafComparison> other;
  std::string not_compared;          // why not, where there are values to compare with
  std::optional<Error> missing;      // why there is no value
  hlo::Literal value;                // of the first iteration
  std::vector<PreciseSide> precise;  // --precise: the platform, then what it is compared with
  int64_t iteration = 0;  // that `comparison` is of: the first that differs, or the first
};

// Of a result with two comparisons: what `other` is with, where the reference platform is that one.
std::string_view OtherSide(const RunOutput& output, std::string_view reference);
// Of the comparisons that of a reference platform; null where there is none.
const LeafComparison* WithReference(const RunOutput& output, std::string_view reference);
// What a report calls that: "the expected values", or the platform.
std::string_view SideName(std::string_view side);

// How runs on the same inputs compare.
struct RepeatReport {
  int64_t runs = 0;                      // that have results, of each iteration at least
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
  std::vector<NonFiniteArrival> arrivals;            // of --find; warnings have their texts
  std::optional<NonFiniteKind> found_no_nonfinite;   // --find looked for that, in vain
  std::vector<replay::RunFallback> fallbacks;        // each as often as it happened
  std::vector<replay::RunFinding> checks;            // what checks of a simulated GPU found
  std::optional<replay::RunExecuted> executed;       // of platforms that tell it: the last run's
  std::vector<std::string> warnings;  // "out3 is not among the expected values: not compared" …
  std::vector<std::string> unused_arrays;  // those of the warnings that have names of the user's
  std::optional<Error> error;              // for kUnsupported, kError and kDied: the first
  bool recording_changed_bits = false;     // of a result, which would be a fault of ours
  std::vector<hlo::Literal> arguments;     // what it ran on, one per parameter, devices together

  void WarnOfUnusedArray(std::string line) {
    warnings.push_back(line);
    unused_arrays.push_back(std::move(line));
  }
};

/// The status in words; of kDied with its cause: "died (deadline exceeded)".
std::string StatusText(const RunReport& report);

// Runs `module` as asked. Never fails itself: what goes wrong is the report's status and error. An
// iteration, repetition or isolated instruction that dies is lost alone: the error names the first,
// warnings the others, and all that finished is kept.
// Status: died, error, unsupported (in this order) if the run or an output has none better;
// otherwise differs or equal where something was compared, else ran.
RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunSpec& spec,
                    const RunSinks& sinks, std::stop_token stop = {});
// The same, with what comes of it in the report alone.
RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunSpec& spec,
                    std::stop_token stop = {});

// A module loaded once, for a capture plan, to be run on the inputs that the spec means as often as
// one likes; each run's plan wants no more than the one it was loaded for.
class CaptureSession {
 public:
  // Fails as the run would before it runs: unsupported where the platform cannot serve the plan.
  static Result<CaptureSession> Open(std::shared_ptr<const hlo::Module> module, const RunSpec& spec,
                                     const replay::CapturePlan& plan, std::stop_token stop = {});
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

// Runs `module` once on its platform, on the inputs that the spec means, with that capture plan;
// what comes of it goes to `stream`. Fails as the run does.
Result<replay::RunResult> RunCapturing(std::shared_ptr<const hlo::Module> module,
                                       const RunSpec& spec, const replay::CapturePlan& plan,
                                       replay::RunStream& stream, std::stop_token stop = {});

}  // namespace hloscope::debug
