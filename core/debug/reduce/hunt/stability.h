// Whether a failure comes each time and as the same one. What damages memory, or reads what nobody
// has written, fails in another way each time: whether it is found must not depend on when it is
// looked for, so that it is no finding but told apart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/debug/run/failure.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// What came of one of the runs.
struct RunOutcome {
  std::string failure;   // in words that name no instruction; empty: it did not fail
  uint64_t values = 0;   // of a mismatch: a hash of what the platform computed
  bool changes = false;  // runs one after another in one process gave different results
  bool operator==(const RunOutcome&) const = default;
};
RunOutcome OutcomeOf(const RunReport& report, const std::optional<Failure>& failure);
// "differs: integer, values 1a2b"; "does not fail".
std::string ToString(const RunOutcome& outcome);

enum class Stability : uint8_t {
  kStable,    // each run fails in the same way
  kUnstable,  // some run fails, not all of them in the same way
  kGone,      // no run fails
};
Stability StabilityOf(std::span<const RunOutcome> outcomes);

// Workers as the request's, with nothing run in them; null where the request has none.
std::shared_ptr<replay::WorkerPool> FreshWorkers(const RunSpec& request);

// A failure looked at again, each time in processes of its own.
struct Retried {
  Stability stability = Stability::kGone;
  std::vector<RunOutcome> outcomes;
  RunReport report;                // of the first of these runs
  std::optional<Failure> failure;  // its failure
};
// Runs `module` again as the request says, several times in each of several fresh processes whose
// memory holds something else. What met its deadline gets more time, once.
Retried RunAgain(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                 const Failure& failure, const std::stop_token& stop);

}  // namespace hloscope::debug
