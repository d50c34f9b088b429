// Examine: from a program that fails to the fault that it shows: reduced, blamed, and told from
// what is no fault.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/reduce/candidate.h"
#include "core/debug/reduce/hunt/finding.h"
#include "core/debug/reduce/hunt/stability.h"
#include "core/debug/reduce/hunt/suspect.h"
#include "core/debug/run/failure.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// A part of a program that fails in another way each time, as small as it came.
struct UnstableFailure {
  Candidate candidate;
  std::vector<RunOutcome> outcomes;
};

// What is left of a program that fails.
struct SmallFailures {
  std::vector<SmallFailure> stable;
  std::vector<UnstableFailure> unstable;
};
// The failures of a program: of a mismatch one for each result that differs, of the first few; else
// the one. `report` is the run that failed. Depends on module, inputs and request alone.
SmallFailures SmallFailuresOf(const std::shared_ptr<const hlo::Module>& module,
                              const RunSpec& request, const RunReport& report,
                              const std::stop_token& stop);

// Why it fails.
struct Examined {
  Finding finding;
  DivergeVerdict verdict;
  // "rounding", where what was tried says that it is no fault; empty: it is one.
  std::string explanation;
};
Examined Examine(const SmallFailure& small, const RunSpec& request, const std::stop_token& stop);

}  // namespace hloscope::debug
