// Running again what failed.
#include "core/debug/reduce/hunt/stability.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/fnv.h"
#include "core/debug/reduce/hunt/suspect.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::debug {
namespace {

constexpr int64_t kRunsEach = 8;  // in a process: damage to memory adds up
constexpr double kMoreTime = 2;   // for what met its deadline: the machine may have been busy

// What malloc puts into memory that nobody has written or that was freed, and how soon it hands it
// out again; the first is what everybody gets.
constexpr std::string_view kMemories[] = {
    "",
    "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=85",
    "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=170",
};

// Draws of a generator that nobody has seeded follow one another.
bool DrawsWithoutSeed(const hlo::Module& module) {
  return std::ranges::any_of(module.instructions(), [](const hlo::Instruction& i) {
    return i.opcode == hlo::Opcode::kRng || i.opcode == hlo::Opcode::kRngGetAndUpdateState;
  });
}

uint64_t HashOfValues(const RunReport& report) {
  uint64_t hash = kFnvStart;
  for (const RunOutput& output : report.outputs) {
    for (const hlo::Literal& leaf : dump::FlattenLiteral(output.value)) {
      for (const std::byte b : leaf.bytes()) hash = FnvStep(hash, static_cast<uint8_t>(b));
    }
  }
  return hash;
}

// A run behind the first one that differs from it, or dies. The first one's own error leaves
// results without a value.
bool ChangesFromRunToRun(const RunReport& report) {
  if (!report.repeat) return false;
  const bool had_values =
      !report.outputs.empty() && std::ranges::none_of(report.outputs, [](const RunOutput& output) {
        return output.missing.has_value();
      });
  return report.repeat->differing_run || (report.error && had_values);
}

}  // namespace

RunOutcome OutcomeOf(const RunReport& report, const std::optional<Failure>& failure) {
  RunOutcome outcome;
  outcome.changes = ChangesFromRunToRun(report);
  if (!failure) return outcome;
  outcome.failure = FailureText(*failure);
  if (failure->kind == FailureKind::kDiffers) outcome.values = HashOfValues(report);
  return outcome;
}

std::string ToString(const RunOutcome& outcome) {
  std::string text = outcome.failure.empty() ? "does not fail" : outcome.failure;
  if (outcome.values != 0) text += fmt::format(", values {:016x}", outcome.values);
  if (outcome.changes) text += ", another time differently";
  return text;
}

Stability StabilityOf(std::span<const RunOutcome> outcomes) {
  const bool fails = std::ranges::any_of(
      outcomes, [](const RunOutcome& one) { return !one.failure.empty() || one.changes; });
  if (!fails) return Stability::kGone;
  const bool same = std::ranges::all_of(
      outcomes, [&](const RunOutcome& one) { return one == outcomes.front() && !one.changes; });
  return same ? Stability::kStable : Stability::kUnstable;
}

std::shared_ptr<replay::WorkerPool> FreshWorkers(const RunSpec& request) {
  if (request.execution.workers == nullptr) return nullptr;
  return std::make_shared<replay::WorkerPool>(request.execution.workers->options());
}

Retried RunAgain(const std::shared_ptr<const hlo::Module>& module, const RunSpec& request,
                 const Failure& failure, const std::stop_token& stop) {
  Retried retried;
  RunSpec again = request;
  const bool is_late = failure.kind == FailureKind::kDeadline;
  again.repeats.runs = is_late || DrawsWithoutSeed(*module) ? 1 : kRunsEach;
  again.compare.same_bits = true;
  if (again.budget.seconds) {
    *again.budget.seconds *= is_late ? kMoreTime : static_cast<double>(again.repeats.runs);
  }
  for (const std::string_view memory : kMemories) {
    if (stop.stop_requested()) return retried;
    again.execution.workers = FreshWorkers(request);
    again.execution.environment = request.execution.environment;
    if (!memory.empty()) again.execution.environment.emplace_back(memory);
    RunReport report = RunModule(module, again, stop);
    std::optional<Failure> own = FailureOf(report, module.get());
    retried.outcomes.push_back(OutcomeOf(report, own));
    if (retried.outcomes.size() == 1) {
      retried.report = std::move(report);
      retried.failure = own;
    }
    // Once more is enough of what takes longest.
    if (own && own->kind == FailureKind::kDeadline && is_late) break;
  }
  retried.stability = StabilityOf(retried.outcomes);
  return retried;
}

}  // namespace hloscope::debug
