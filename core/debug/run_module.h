// RunModule: one replay from files to verdict, everything `hloscope run` prints. The command line
// fills in a RunRequest and prints the RunReport; nothing here prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/compare_values.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct RunRequest {
  std::string platform = "interpreter";
  std::string reference_platform;       // empty: none
  std::vector<std::string> inputs;      // --inputs; empty: `arguments`, or made up from `seed`
  std::vector<hlo::Literal> arguments;  // of a snapshot, one per parameter; empty: none
  std::vector<std::string> expect;      // --expect; empty: nothing to compare with
  std::string save_inputs;              // --save_inputs F.npz; empty: not asked
  std::string outputs;                  // --outputs DIR|F.npz; empty: not asked
  uint64_t seed = 0;
  BoundsRequest bounds;
  int64_t iterations = 1;
  std::optional<uint64_t> fill_elided;
  bool random_inputs = true;     // --random_init_input_literals; false: zeros
  bool flush_denormals = false;  // --denormals flush
  Limits limits;
};

enum class RunStatus : uint8_t { kEqual, kDiffers, kRan, kUnsupported, kError, kDied };
// "equal", "differs", "ran", "unsupported", "error", "died".
std::string_view ToString(RunStatus status);

struct RunTiming {
  double load_ms = 0;     // inputs read or made up
  double compile_ms = 0;  // the platform's Load
  std::vector<double> run_us;
  int64_t peak_bytes = 0;
};

// One leaf of the result. `comparison` has its index, shape and, if `compared`, how it compares.
struct RunOutput {
  LeafComparison comparison;
  bool compared = false;
  std::optional<Error> missing;  // why there is no value
  hlo::Literal value;            // of the first iteration
};

struct RunReport {
  std::string module;  // the module's name
  std::string platform, reference;
  RunStatus status = RunStatus::kError;
  uint64_t seed = 0;
  bool made_up_inputs = false;
  std::vector<RunOutput> outputs;
  RunTiming timing;
  std::optional<RunTiming> reference_timing;
  std::vector<std::string> warnings;    // "out3 is not among the expected values: not compared" …
  std::optional<Error> error;           // for kUnsupported, kError and kDied: the first
  std::vector<hlo::Literal> arguments;  // what it ran on, one per parameter
};

// Runs `module` as asked. Never fails itself: what goes wrong is the report's status and error.
// Status: died, error, unsupported (in this order) if the run or an output has none better;
// otherwise differs or equal where something was compared, else ran.
RunReport RunModule(std::shared_ptr<const hlo::Module> module, const RunRequest& request,
                    std::stop_token stop = {});

}  // namespace hloscope::debug
