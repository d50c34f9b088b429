// RunOptionSet: the options that say on what and how a module runs, which several commands have.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "app/command.h"
#include "app/option_kinds.h"
#include "app/xla_options.h"
#include "core/backends/pjrt/mlir_module.h"
#include "core/base/result.h"
#include "core/debug/bundle/dumped_kernels.h"
#include "core/debug/run/run_module.h"
#include "core/dump/load.h"

namespace hloscope::app {

// A module, and the request to run it.
struct LoadedRun {
  dump::LoadedModule loaded;                  // as it is in the file
  std::shared_ptr<const hlo::Module> module;  // completed from the dump that it lies in
  debug::RunSpec request;
  // Of a bundle with kernels: those that the request runs.
  std::shared_ptr<const debug::BundledKernels> kernels;
  // Of MLIR: when it had to be translated, and when a run has to end that is to take no longer
  // with its translation than without.
  std::optional<std::chrono::steady_clock::time_point> translated_by = {};
};

// Where help shows an option of a run; kNone: not by its row of run_options.def.
enum class RunGroup : uint8_t {
  kNone,
  kInputs,      // what it runs on which platform, and on what inputs
  kOutputs,     // what is written
  kComparison,  // what the results are compared with
  kIsolation,   // how it runs before, instruction by instruction
  kMetrics,     // what is measured in addition, in other runs
  kRepeats,     // how often it runs, and what is looked for
  kExecution,   // what it may take; flags of XLA
};

class RunOptionSet {
 public:
  /// The options of a group, with those that are not rows of run_options.def.
  std::vector<OptionSpec> Specs(RunGroup group);

  // Once, after the arguments have been read: checks the values and puts them into the request.
  // Before any thread is started, since workers inherit the environment.
  Status Prepare(const Context& context);
  // What Prepare() found, on standard error: for commands whose report has no notes.
  void PrintNotes() const;

  // The Python environments that --python names: at most one, unless several are allowed, which is
  // said before the specs are asked for.
  const std::vector<std::string>& pythons() const { return pythons_; }
  void AllowSeveralPythons() { several_pythons_ = true; }
  // The command generates values of its own as the options say, whatever the inputs of the run are.
  void GenerateValues() { generates_values_ = true; }
  // The names of the options of Specs() that were given.
  const std::vector<std::string>& given() const { return given_; }
  debug::RunSpec& request() { return request_; }
  const debug::RunSpec& request() const { return request_; }
  debug::RunSinks& sinks() { return sinks_; }

  // `request`, which is this one or made of it, as options on a command line; each has a blank
  // before it.
  std::string OptionsText(const debug::RunSpec& request) const;

  // Reads and verifies `file` (- is standard input). The request takes inputs and result of a
  // snapshot, and a note for each thing that came from elsewhere in the dump or was left out.
  // Absent request workers stay absent: the caller starts them.
  Result<LoadedRun> Load(const std::string& file, const Limits& limits,
                         const std::stop_token& stop) const;

 private:
  std::vector<OptionSpec> TableSpecs(RunGroup group);
  std::vector<OptionSpec> InputSpecs();
  std::vector<OptionSpec> ComparisonSpecs();
  std::vector<OptionSpec> ExecutionSpecs();
  std::string_view PlatformName() const;
  Status PrepareFlags(const Limits& limits);
  Status PrepareTargets();
  Status PrepareChecks();
  void MeanPlatforms();
  Status PreparePythons();
  Status PrepareReference();
  Status CheckNeeds() const;
  void AddUnusedOptions(bool is_mlir, std::vector<std::string>& notes) const;
  void AddUnusedOfModule(LoadedRun& run) const;
  replay::MlirArguments ProgramArguments(const Limits& limits) const;
  Status Verify(const dump::LoadedModule& loaded, const Limits& limits) const;

  debug::RunSpec request_;
  debug::RunSinks sinks_;
  std::vector<std::string> given_;                         // names of options
  std::vector<std::pair<std::string, OptionNeed>> needs_;  // of options by name
  std::vector<std::string> checks_;
  std::string fallback_, input_format_, python_, target_, reference_target_;
  std::vector<std::string> pythons_;
  std::vector<std::string> reference_flags_;
  std::vector<dump::DimensionVariable> variables_;  // of --shape
  XlaOptions xla_options_;
  bool as_dumped_ = false, autotune_ = false, several_pythons_ = false, skip_callbacks_ = false,
       generates_values_ = false;
};

/// Whether the replay of a bundle takes the user's value of the option, as run_options.def says,
/// and not the recorded one.
bool IsOfReplay(std::string_view option);

// The error as the report of a replay that did not begin.
debug::RunReport RefusedRun(const debug::RunSpec& request, Error error);

}  // namespace hloscope::app
