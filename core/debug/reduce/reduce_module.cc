// What fails, tried again and again; where values come from.
#include "core/debug/reduce/reduce_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>

#include "core/backends/pjrt/api.h"
#include "core/base/counted.h"
#include "core/debug/reduce/differing_results.h"
#include "core/debug/reduce/reductions.h"
#include "core/debug/reduce/script.h"
#include "core/debug/run/capture_collector.h"
#include "core/debug/run/extract.h"
#include "core/debug/run/run_inputs.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/replay/inputs/inputs.h"

namespace hloscope::debug {
namespace {

using Clock = std::chrono::steady_clock;

// A smaller module that needs much longer than the whole one is of no use, unless that is how it
// fails.
constexpr double kSlower = 4, kMinSeconds = 10, kMinSmallSeconds = 3;
constexpr int kMaxRepeats = 3;          // of a failure that may not come each time
constexpr double kCaptureSeconds = 30;  // values of a run that does not end

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

// What is run of a try: what the whole run compares, once.
RunSpec ForTries(const RunSpec& run) {
  RunSpec once = DerivedSpec(run, run.test, run.inputs);
  once.reference = run.reference;
  once.compare = run.compare;
  once.compare.isolate = false;
  once.repeats.runs = run.repeats.runs;
  once.execution.verify = false;  // the search does
  return once;
}

// Of a smaller module there is nothing on disk.
void ForgetFiles(RunSpec& run) {
  run.inputs = run.inputs.With({});
  run.compare.recorded.reset();
  run.compare.expect.clear();
}

// Values that nobody knows are made up; if none is known, by the run itself.
std::vector<hlo::Literal> Complete(const Candidate& candidate, const RunSpec& request) {
  const auto& known = candidate.arguments;
  if (std::ranges::all_of(known, IsUnknown)) return {};
  if (std::ranges::none_of(known, IsUnknown)) return known;
  replay::InputOptions options;
  options.seed = request.inputs.seed;
  options.large_floats = request.inputs.large_floats;
  options.edge_values = request.inputs.edge_values;
  options.zeros = !request.inputs.random;
  options.limits = request.limits;
  Result<replay::GeneratedInputs> inputs = replay::MakeInputs(*candidate.module, options);
  if (!inputs.has_value() || inputs->literals.size() != known.size()) return {};
  for (size_t i = 0; i < known.size(); ++i) {
    if (!IsUnknown(known[i])) inputs->literals[i] = known[i];
  }
  return std::move(inputs->literals);
}

// Whether values that are wrong would be a failure.
bool LooksForMismatch(const RunSpec& run) {
  return !run.reference.name.empty() || !run.compare.expect.empty() || run.compare.recorded ||
         run.compare.find || run.repeats.runs > 1;
}

// Each has values of its own: they are made up.
bool HasDevices(const hlo::Module& module) {
  return module.header().replica_count != 1 || module.header().num_partitions != 1;
}

class Reduction {
 public:
  Reduction(std::shared_ptr<const hlo::Module> module, const ReduceRequest& request,
            ReduceReport& report, std::stop_token stop)
      : module_(std::move(module)),
        request_(request),
        run_(ForTries(request.run)),
        report_(report),
        stop_(std::move(stop)) {}

  Status Run() {
    report_.instructions_before = report_.instructions = module_->instructions().size();
    report_.smallest.module = module_;
    HLOSCOPE_ASSIGN_OR_RETURN(std::optional<Failure> failure,
                              IsScripted() ? FirstOfScript() : FirstOfRun());
    report_.seed = run_.inputs.seed;
    if (!failure) {
      if (!IsScripted() && !LooksForMismatch(request_.run)) {
        // Parts of the module have no expected values: they are compared with the interpreter.
        const bool may_expect = request_.run.test.name != replay::ReferencePlatform().name;
        report_.notes.push_back(
            fmt::format("the results were compared with nothing: --reference_platform{} says with "
                        "what, and --find nan looks for a NaN",
                        may_expect ? " or --expect" : ""));
      }
      report_.status = ReduceStatus::kNotFailing;
      return {};
    }
    report_.failure = failure;
    RunSearch(*failure);
    report_.status = ReduceStatus::kReduced;
    return {};
  }

 private:
  bool IsScripted() const { return !request_.script.empty(); }

  std::chrono::milliseconds ScriptTime() const {
    return std::chrono::milliseconds(static_cast<int64_t>(std::min(SecondsOf(run_), 1e6) * 1000));
  }

  Result<std::optional<Failure>> FirstOfScript() {
    report_.smallest.arguments.resize(module_->Parameters(module_->entry_id()).size());
    HLOSCOPE_ASSIGN_OR_RETURN(const ScriptAnswer answer,
                              AskScript(request_.script, *module_, ScriptTime(), stop_));
    if (answer == ScriptAnswer::kTimedOut) {
      return std::unexpected(
          Error{ErrorClass::kDeadlineExceeded,
                fmt::format("the script {} took longer than the deadline of {:g} s on the whole "
                            "module",
                            request_.script, Seconds(ScriptTime())),
                {},
                "raise --deadline, or let the script stop by itself"});
    }
    if (answer == ScriptAnswer::kDoesNotFail) return std::nullopt;
    return ScriptFailure(request_.script);
  }

  // The first iteration that fails, and how; its inputs are those of all that follows.
  Result<std::optional<Failure>> FirstOfRun() {
    std::optional<Failure> failure;
    std::vector<int64_t> differing;
    double run_seconds = 0;
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < std::max<int64_t>(request_.run.repeats.iterations, 1) && !failure;
         ++i) {
      run_.inputs.seed = request_.run.inputs.seed + static_cast<uint64_t>(i);
      if (request_.run.repeats.different_random_seeds)
        run_.repeats.rng_seed = static_cast<uint64_t>(i) + 1;
      RunReport ran = RunModule(module_, run_, stop_);
      if (stop_.stop_requested()) {
        return std::unexpected(
            Error{ErrorClass::kCancelled, "stopped before the module had failed", {}, {}});
      }
      // What this machine, this XLA or the files of values lack is no failure of the module.
      const bool lacks = ran.error && (ran.error->error_class == ErrorClass::kEnvironment ||
                                       ran.error->message.contains(replay::pjrt::kUnknownFlag) ||
                                       IsOfGivenFiles(*ran.error, run_));
      if (lacks) return std::unexpected(*ran.error);
      failure = FailureOf(ran, module_.get());
      differing = DifferingResults(ran);
      differs_from_expected_ =
          failure && failure->kind == FailureKind::kDiffers && DiffersFromExpectedAlone(ran);
      for (const double us : ran.timing.run_us) run_seconds = std::max(run_seconds, us / 1e6);
      report_.smallest.arguments = std::move(ran.arguments);
    }
    if (!failure) return std::nullopt;
    const double seconds = SecondsSince(start);
    run_.repeats.different_random_seeds = false;
    report_.smallest.arguments.resize(module_->Parameters(module_->entry_id()).size());
    ForgetFiles(run_);
    if (differs_from_expected_ && run_.reference.name.empty()) HLOSCOPE_TRY(TakeReference());
    std::optional<Failure> again = CutToResults(differing, *failure);
    if (!again) {
      HLOSCOPE_ASSIGN_OR_RETURN(again, Repeated(*failure));
    }
    if (failure->kind != FailureKind::kDeadline && request_.try_seconds) {
      run_.budget.seconds = request_.try_seconds;
    } else if (failure->kind != FailureKind::kDeadline) {
      least_seconds_ = std::max(kSlower * run_seconds, kMinSmallSeconds);
      run_.budget.seconds = std::min(std::max(kSlower * seconds, kMinSeconds), SecondsOf(run_));
    }
    return again;
  }

  // What the results that differ need is often a small part. The failure of that; nullopt where it
  // is as large, or does not fail the same way.
  std::optional<Failure> CutToResults(std::span<const int64_t> differing, const Failure& failure) {
    std::optional<Candidate> cut = WithResults(report_.smallest, differing);
    if (!cut || cut->module->instructions().size() >= module_->instructions().size()) {
      return std::nullopt;
    }
    std::optional<Failure> again = TryRun(*cut, stop_);
    if (!again || !IsNoOtherFailure(failure, *again)) return std::nullopt;
    report_.smallest = *std::move(cut);
    return again;
  }

  // The failure of the module with the values that it ran on.
  Result<Failure> Repeated(const Failure& failure) {
    bool agrees = true;
    for (int i = 1; i <= kMaxRepeats; ++i) {
      const auto again = TryRun(report_.smallest, stop_);
      agrees = agrees && !again;
      if (!again || !IsNoOtherFailure(failure, *again)) continue;
      if (i > 1)
        report_.notes.push_back("it does not fail each time: other reductions may be possible");
      return *again;
    }
    if (stop_.stop_requested()) {
      return std::unexpected(
          Error{ErrorClass::kCancelled, "stopped before the failure had repeated", {}, {}});
    }
    if (differs_from_expected_ && !run_.reference.name.empty()) {
      return InputError(
          fmt::format("the expected results are not those of {}{}: {}", run_.reference.name,
                      agrees ? ", which agrees with " + run_.test.name
                             : ", against which it fails otherwise",
                      failure.text),
          "name the platform that gives them with --reference_platform");
    }
    return std::unexpected(Error{ErrorClassOf(failure.kind).value_or(ErrorClass::kInput),
                                 "the failure does not repeat: " + failure.text,
                                 {},
                                 "it depends on more than module and inputs"});
  }

  // Expected values are those of the whole module: of its parts somebody else has to say them.
  Status TakeReference() {
    run_.reference.name = replay::ReferencePlatform().name;
    report_.reference_platform = run_.reference.name;
    if (run_.test.name == run_.reference.name) {
      return InputError(
          "the expected values are those of the whole module",
          fmt::format("name the platform that does not give them with --platform (it is {}), or "
                      "one that does with --reference_platform",
                      run_.test.name));
    }
    report_.notes.push_back(
        fmt::format("compared with {}: the expected values are those of the whole module",
                    run_.reference.name));
    return {};
  }

  // A part of the module compiles in a part of the time, and runs no longer: where it does, it is a
  // loop that does not end any more. Of a failure that is a deadline, that.
  std::optional<double> DeadlineOf(const Candidate& candidate) const {
    if (!run_.budget.seconds || least_seconds_ == 0) return run_.budget.seconds;
    const double part = static_cast<double>(candidate.module->instructions().size()) /
                        static_cast<double>(module_->instructions().size());
    return std::min(*run_.budget.seconds, std::max(least_seconds_, part * *run_.budget.seconds));
  }

  std::optional<Failure> TryRun(const Candidate& candidate, const std::stop_token& stop) const {
    RunSpec attempt = run_;
    attempt.inputs.arguments = Complete(candidate, run_);
    attempt.budget.seconds = DeadlineOf(candidate);
    const RunReport ran = RunModule(candidate.module, attempt, stop);
    if (stop.stop_requested()) return std::nullopt;
    std::optional<Failure> failure = FailureOf(ran, candidate.module.get());
    if (failure && failure->kind == FailureKind::kDeadline) ++timed_out_;
    return failure;
  }

  std::optional<Failure> TryScript(const Candidate& candidate, const std::stop_token& stop) const {
    const Result<ScriptAnswer> answer =
        AskScript(request_.script, *candidate.module, ScriptTime(), stop);
    if (answer == ScriptAnswer::kFails) return ScriptFailure(request_.script);
    if (answer == ScriptAnswer::kTimedOut) ++timed_out_;
    if (!answer && answer.error().error_class != ErrorClass::kCancelled) {
      const std::lock_guard lock(mutex_);
      if (unanswered_++ == 0) first_error_ = answer.error();
    }
    return std::nullopt;
  }

  // What became of candidates that neither failed as the first one did nor passed.
  void NoteUndecided(const Failure& failure) {
    if (failure.kind != FailureKind::kDeadline) report_.timed_out = timed_out_;
    if (report_.timed_out > 0) {
      const double seconds = IsScripted() ? Seconds(ScriptTime()) : run_.budget.seconds.value_or(0);
      report_.notes.push_back(
          fmt::format("{} took longer than the deadline of {:g} s: counted as not failing{}",
                      Counted(report_.timed_out, "candidate"), seconds,
                      IsScripted() ? "; fix: raise --deadline" : ""));
    }
    if (unanswered_ > 0) {
      report_.notes.push_back(fmt::format("{} could not be tried, counted as not failing: {}",
                                          Counted(unanswered_, "candidate"),
                                          first_error_.ToString()));
    }
  }

  RunSpec ForCapture(const Candidate& candidate) const {
    RunSpec capturing = DerivedSpec(run_, TestOn(run_, replay::ReferencePlatform().name),
                                    run_.inputs.With(Complete(candidate, run_)));
    capturing.budget.seconds =
        std::min(run_.budget.seconds.value_or(kCaptureSeconds), kCaptureSeconds);
    return capturing;
  }

  // What the reference evaluator computes; of a run that fails, what came before.
  KnownValues ValuesOf(const Candidate& candidate,
                       std::span<const hlo::InstructionId> wanted) const {
    if (HasDevices(*candidate.module)) return {};
    replay::CapturePlan plan;
    plan.results = replay::CaptureForm::kNone;
    plan.items.push_back({replay::CaptureScope::kInstructions,
                          replay::CaptureForm::kBytes,
                          {wanted.begin(), wanted.end()}});
    CaptureCollector collector;
    (void)RunCapturing(candidate.module, ForCapture(candidate), plan, collector, stop_);
    KnownValues values;
    for (const hlo::InstructionId id : wanted) {
      Result<hlo::Literal> value = collector.ValueOf(*candidate.module, id);
      if (value.has_value()) values.emplace(id.index, *std::move(value));
    }
    return values;
  }

  std::vector<hlo::Literal> ArgumentsOf(const Candidate& candidate, hlo::ComputationId computation,
                                        int64_t execution) const {
    const hlo::Module& module = *candidate.module;
    if (HasDevices(module)) return {};
    const auto run = [&](const replay::CapturePlan& plan, replay::RunStream& stream) {
      return RunCapturing(candidate.module, ForCapture(candidate), plan, stream, stop_);
    };
    Result<CapturedValues> values = CaptureValues(module, module[computation].root,
                                                  module.Parameters(computation), execution, run);
    return values.has_value() ? std::move(values->arguments) : std::vector<hlo::Literal>();
  }

  // What made the first NaN; of a mismatch the first instruction that differs on the operands that
  // the reference gives it.
  hlo::InstructionId SuspectOf(const Candidate& candidate, const Failure& failure) const {
    const hlo::Module& module = *candidate.module;
    std::string name = failure.instruction;
    if (failure.kind == FailureKind::kDiffers && !HasDevices(module) &&
        !run_.reference.name.empty() && run_.repeats.runs == 1) {
      RunSpec isolating = run_;
      isolating.inputs.arguments = Complete(candidate, run_);
      isolating.budget.seconds = DeadlineOf(candidate);
      isolating.compare.isolate = true;
      const RunReport report = RunModule(candidate.module, isolating, stop_);
      if (report.first_divergent) name = report.first_divergent->instruction;
    }
    const hlo::InstructionId id = hlo::FindInstruction(module, name);
    return id.valid() && module[id].computation == module.entry_id() ? id : hlo::InstructionId();
  }

  // On the reference evaluator; 1 where its run does not end.
  int64_t ExecutionsOf(const Candidate& candidate, hlo::ComputationId computation) const {
    const hlo::Module& module = *candidate.module;
    if (HasDevices(module)) return 1;
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    CaptureCollector nothing;
    const auto ran =
        RunCapturing(candidate.module, ForCapture(candidate),
                     OperandsPlan(module[computation].root, {}, kNone), nothing, stop_);
    return ran.has_value() ? ran->executions : 1;
  }

  void RunSearch(const Failure& failure) {
    SearchOptions options;
    options.jobs = request_.jobs;
    options.verify = request_.run.execution.verify;
    options.most_tries = request_.most_tries;
    options.limits = request_.run.limits;
    options.stop = stop_;
    options.on_better = request_.on_better;
    options.on_progress = request_.on_progress;
    const Try attempt = [this](const Candidate& candidate, const std::stop_token& stop) {
      return IsScripted() ? TryScript(candidate, stop) : TryRun(candidate, stop);
    };
    RunValues source;
    if (!IsScripted()) {
      source.values = [this](const Candidate& c, std::span<const hlo::InstructionId> wanted) {
        return ValuesOf(c, wanted);
      };
      source.arguments = [this](const Candidate& c, hlo::ComputationId id, int64_t execution) {
        return ArgumentsOf(c, id, execution);
      };
      source.suspect = [this](const Candidate& c, const Failure& f) { return SuspectOf(c, f); };
      source.executions = [this](const Candidate& c, hlo::ComputationId id) {
        return ExecutionsOf(c, id);
      };
    }
    Search search(report_.smallest, failure, attempt, source, options);
    RunReductions(search);
    report_.smallest = search.best();
    report_.failure = search.failure();
    report_.instructions = search.size().instructions;
    report_.tries = search.tries();
    report_.stopped = search.stopped();
    NoteUndecided(failure);
    report_.inputs_from_seed = IsScripted() || FailsFromSeed(search.failure());
    if (!report_.inputs_from_seed) report_.smallest.arguments = Complete(search.best(), run_);
  }

  // Where it does, the failure is that of these inputs.
  bool FailsFromSeed(const Failure& failure) {
    if (std::ranges::all_of(report_.smallest.arguments, IsUnknown)) return true;
    Candidate unknown = report_.smallest;
    for (hlo::Literal& argument : unknown.arguments) argument = hlo::Literal();
    std::optional<Failure> fails = TryRun(unknown, stop_);
    if (!fails || !IsNoOtherFailure(failure, *fails)) return false;
    report_.failure = std::move(fails);
    return true;
  }

  std::shared_ptr<const hlo::Module> module_;
  const ReduceRequest& request_;
  RunSpec run_;                         // of a try
  bool differs_from_expected_ = false;  // alone, where it is results that differ
  double least_seconds_ = 0;            // of the deadline of a try; 0: it is the same for all
  ReduceReport& report_;
  std::stop_token stop_;
  mutable std::atomic<int64_t> timed_out_ = 0;
  mutable std::mutex mutex_;  // of the next two
  mutable int64_t unanswered_ = 0;
  mutable Error first_error_;
};

}  // namespace

std::string_view ToString(ReduceStatus status) {
  switch (status) {
    case ReduceStatus::kReduced:
      return "reduced";
    case ReduceStatus::kNotFailing:
      return "not_failing";
    case ReduceStatus::kError:
      return "error";
  }
  return "error";
}

ReduceReport ReduceModule(std::shared_ptr<const hlo::Module> module, const ReduceRequest& request,
                          const std::stop_token& stop) {
  const Clock::time_point start = Clock::now();
  ReduceReport report;
  if (request.script.empty()) report.platform = request.run.test.name;
  report.reference_platform = request.run.reference.name;
  report.notes = request.run.notes;
  Reduction reduction(std::move(module), request, report, stop);
  if (Status status = reduction.Run(); !status.has_value()) {
    report.error = std::move(status).error();
    report.status = ReduceStatus::kError;
  }
  report.seconds = SecondsSince(start);
  return report;
}

}  // namespace hloscope::debug
