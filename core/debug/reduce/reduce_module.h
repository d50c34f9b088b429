// ReduceModule: the smallest module that fails as a given one does, everything that
// `hloscope reduce` prints.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/debug/reduce/search.h"
#include "core/debug/run/failure.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct ReduceRequest {
  RunSpec run;                        // how it fails; `workers` serve all tries
  std::string script;                 // instead: exits with 0 where it still fails
  int jobs = 1;                       // tries at a time
  int64_t most_tries = 0;             // no more are begun, as one job counts them; 0: no bound
  std::optional<double> try_seconds;  // of each, whatever the first run took; of no deadline
  std::function<void(const Candidate&, const Failure&)> on_better;  // as it comes
  std::function<void(const SearchProgress&)> on_progress;
};

enum class ReduceStatus : uint8_t { kReduced, kNotFailing, kError };
// "reduced", "not_failing", "error".
std::string_view ToString(ReduceStatus status);

struct ReduceReport {
  ReduceStatus status = ReduceStatus::kError;
  std::optional<Failure> failure;                    // of the smallest module
  size_t instructions_before = 0, instructions = 0;  // of all computations
  int64_t tries = 0;
  // Candidates that took longer than the deadline, which is not how the module fails: they count as
  // not failing.
  int64_t timed_out = 0;
  double seconds = 0;
  bool stopped = false;  // before nothing helped any more
  Candidate smallest;
  bool inputs_from_seed = false;   // it fails on inputs made up from the seed too
  std::string platform;            // what it ran on; empty: a script said
  std::string reference_platform;  // what results were compared with
  uint64_t seed = 0;               // of the iteration that fails
  std::vector<std::string> notes;  // those of the run first
  std::optional<Error> error;
};

// Never fails itself. What fails is a replay of `module` as `request.run` asks (FailureOf), or what
// the script says; every step keeps the kind of the failure and a class of it. Where instructions
// become parameters, their values are those of the reference evaluator, made up only where it gives
// none. Stopped, it reports the smallest so far.
ReduceReport ReduceModule(std::shared_ptr<const hlo::Module> module, const ReduceRequest& request,
                          const std::stop_token& stop = {});

}  // namespace hloscope::debug
