// Programs run in batches, what differs is followed up in order.
#include "core/debug/reduce/hunt/hunt.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/file.h"
#include "core/base/fnv.h"
#include "core/base/jobs.h"
#include "core/debug/reduce/hunt/mutant.h"
#include "core/debug/reduce/hunt/program_maker.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/text/text.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBatch = 8;           // programs for each job
constexpr double kProgramSeconds = 30;  // --deadline, where none is given
constexpr size_t kMostReason = 120;     // characters
constexpr uint64_t kEdgesEvery = 3;     // every third program gets edge values

constexpr std::string_view kRefusals[] = {
#define REFUSAL(text) text,
#include "core/debug/reduce/hunt/refusals.def"
#undef REFUSAL
};

uint64_t Mix(uint64_t a, uint64_t b) {
  eval::RandomBits bits(a ^ (b * 0xd1342543de82ef95u));
  (void)bits.Next();
  return bits.Next();
}

std::string TextOf(const hlo::Module& module) {
  std::string text;
  hlo::PrintText(module, hlo::TextFormat::kHlo, text);
  return text;
}

// What numbers of programs mean; another hunt's are others.
std::string WhatIs(const HuntRequest& request) {
  std::string what =
      fmt::format("seed {}, rank {} of {}, {} against {}", request.seed, request.rank,
                  request.ranks, request.run.platform, request.run.reference_platform);
  for (const HuntModule& module : request.modules) {
    what += fmt::format(", {} ({:016x})", module.name, FingerprintOf({module.module, {}}));
  }
  return what;
}

// The name of files: of a fault by its key's hash.
std::string FileStem(std::string_view what, std::string_view key) {
  return fmt::format("{}-{:016x}", what, FnvOf(key));
}

// One program and what came of it.
struct Trial {
  uint64_t number = 0;
  std::string origin;
  std::shared_ptr<const hlo::Module> module;
  std::string refused;  // why it does not count; empty: it ran
  RunRequest request;
  RunReport report;
  std::optional<Failure> failure;
  Retried again;  // of a failure
};

class Hunting {
 public:
  Hunting(const HuntRequest& request, HuntFolder& folder, std::stop_token stop)
      : request_(request),
        folder_(folder),
        stop_(std::move(stop)),
        start_(Clock::now()),
        workers_(request.run.workers) {}

  Status Run() {
    spent_ = folder_.progress().seconds;
    while (!IsOver()) HLOSCOPE_TRY(RunBatch());
    return {};
  }

 private:
  HuntProgress& progress() { return folder_.progress(); }

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool IsOver() {
    if (stop_.stop_requested()) return true;
    if (request_.minutes && Seconds() >= *request_.minutes * 60) return true;
    return !HasNumber(NumberAt(progress().next));
  }
  // Programs of this rank are counted from 0: the number of one among those of all.
  uint64_t NumberAt(uint64_t at) const {
    return at * static_cast<uint64_t>(request_.ranks) + static_cast<uint64_t>(request_.rank);
  }
  bool HasNumber(uint64_t number) const {
    return !request_.programs || number < static_cast<uint64_t>(*request_.programs);
  }

  Status RunBatch() {
    std::vector<Trial> trials;
    for (int64_t i = 0; i < kBatch * request_.jobs; ++i) {
      const uint64_t number = NumberAt(progress().next + static_cast<uint64_t>(i));
      if (HasNumber(number)) trials.emplace_back().number = number;
    }
    const Status ran = ParallelFor(
        static_cast<int64_t>(trials.size()), request_.jobs,
        [&](int64_t i) { Try(trials[static_cast<size_t>(i)]); }, stop_);
    if (stop_.stop_requested()) return {};
    HLOSCOPE_TRY(ran);
    // What failed may have damaged the memory of its worker.
    const bool any_failed = std::ranges::any_of(
        trials, [](const Trial& trial) { return !trial.again.outcomes.empty(); });
    if (any_failed) workers_ = FreshWorkers(request_.run);
    bool is_saved = true;
    for (Trial& trial : trials) {
      HLOSCOPE_TRY(Judge(trial));
      if (stop_.stop_requested()) break;
      ++progress().next;
      progress().seconds = spent_ + Seconds();
      is_saved = !trial.failure;
      if (!is_saved) HLOSCOPE_TRY(folder_.SaveProgress());
      if (request_.on_progress) request_.on_progress(progress(), folder_.findings().size());
      if (IsOver()) break;
    }
    return folder_.SaveProgress();
  }

  void Make(Trial& trial) const {
    trial.origin = fmt::format("program {}", trial.number);
    const bool is_mutant = !request_.modules.empty() && trial.number % 2 == 1;
    if (!is_mutant) {
      trial.module = RandomProgram(request_.seed, trial.number);
      return;
    }
    const HuntModule& of = request_.modules[trial.number / 2 % request_.modules.size()];
    trial.origin = fmt::format("mutant {} of {}", trial.number, of.name);
    auto mutant = MutantOf(of.module, Mix(request_.seed, trial.number), request_.run.limits);
    if (mutant.has_value()) {
      trial.module = *std::move(mutant);
    } else {
      trial.refused = "unsound mutants";
    }
  }

  // Numbers alone say what it runs on.
  void Try(Trial& trial) const {
    Make(trial);
    if (trial.module == nullptr) return;
    if (DamagesMemory(*trial.module)) {
      trial.refused = "arrays of s1 or u1, which the platform writes beyond their buffers";
      return;
    }
    trial.request = request_.run;
    trial.request.workers = workers_;
    trial.request.seed = Mix(request_.seed, trial.number) >> 32;
    trial.request.edge_values = trial.number % kEdgesEvery == 0;
    trial.request.flush_denormals = true;
    if (!trial.request.deadline_seconds) trial.request.deadline_seconds = kProgramSeconds;
    trial.report = RunModule(trial.module, trial.request, stop_);
    trial.failure = FailureOf(trial.report, trial.module.get());
    if (trial.failure && trial.failure->kind == FailureKind::kDeadline) AskReference(trial);
    if (trial.failure && !IsRefusal(trial)) TryAgain(trial);
    if (trial.failure && IsRefusal(trial)) {
      trial.refused = trial.failure->fingerprint().substr(0, kMostReason);
      trial.failure.reset();
    }
  }

  // Time that ran out says nothing where the reference has no values either: a mutant's loop may
  // have no end.
  void AskReference(Trial& trial) const {
    if (trial.request.reference_platform.empty()) return;
    RunRequest alone = trial.request;
    alone.platform = std::exchange(alone.reference_platform, {});
    const auto failure = FailureOf(RunModule(trial.module, alone, stop_), trial.module.get());
    if (!failure) return;
    trial.refused =
        fmt::format("deadlines that {} exceeds too ({})", alone.platform, ToString(failure->kind));
    trial.failure.reset();
  }

  // A worker that has run other programs may fail for one of these: what fresh ones say counts.
  void TryAgain(Trial& trial) const {
    trial.again = RunAgain(trial.module, trial.request, *trial.failure, stop_);
    if (stop_.stop_requested()) return;
    if (trial.again.stability == Stability::kUnstable) return;
    trial.failure = trial.again.failure;
    trial.report = std::move(trial.again.report);
  }

  // What comes of it, and of what its worker does next, nobody can tell: nor would it repeat.
  bool DamagesMemory(const hlo::Module& module) const {
    const auto overruns = [&](const std::string& name) {
      const replay::PlatformRow* row = replay::FindPlatform(name);
      return row != nullptr && replay::OverrunsBits(*row, module);
    };
    return overruns(request_.run.platform) || overruns(request_.run.reference_platform);
  }

  // What a platform says it does not do, or this machine lacks, is no fault.
  static bool IsRefusal(const Trial& trial) {
    if (trial.report.status == RunStatus::kUnsupported) return true;
    if (!trial.report.error) return false;
    const Error& error = *trial.report.error;
    if (error.error_class == ErrorClass::kEnvironment) return true;
    // What a process printed before it died may be of another program.
    if (IsExecutionFailure(error.error_class)) return false;
    return error.error_class == ErrorClass::kUnsupported ||
           std::ranges::any_of(kRefusals, [&](std::string_view text) {
             return error.message.find(text) != std::string::npos;
           });
  }

  Status Judge(Trial& trial) {
    if (!trial.refused.empty()) {
      ++progress().refused;
      ++progress().reasons[trial.refused];
    }
    if (trial.module != nullptr) ++progress().programs;
    const bool was_tried_again = !trial.again.outcomes.empty();
    if (was_tried_again && trial.again.stability == Stability::kGone) {
      ++progress().reasons["failures that did not repeat"];
    }
    if (!trial.failure) return {};
    if (trial.again.stability == Stability::kUnstable) {
      ++progress().unstable;
      return Keep(trial, {{trial.module, trial.report.arguments}, trial.again.outcomes});
    }
    if (IsKnownDeath(trial)) {
      ++progress().differing;
      return {};
    }
    trial.request.workers = FreshWorkers(request_.run);
    const SmallFailures found = SmallFailuresOf(trial.module, trial.request, trial.report, stop_);
    int64_t explained = 0;
    for (const SmallFailure& small : found.stable) {
      if (stop_.stop_requested()) return {};
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_fault, FollowUp(trial, small));
      explained += is_fault ? 0 : 1;
    }
    if (stop_.stop_requested()) return {};
    for (const UnstableFailure& one : found.unstable) HLOSCOPE_TRY(Keep(trial, one));
    if (found.stable.empty() && !found.unstable.empty()) {
      ++progress().unstable;
      return {};
    }
    ++progress().differing;
    const bool all = explained == static_cast<int64_t>(found.stable.size());
    progress().explained += all ? 1 : 0;
    if (found.stable.empty()) ++progress().reasons["differences that did not repeat"];
    return {};
  }

  // True if it dies or is refused as a fault that was found does, and has what that needs.
  bool IsKnownDeath(const Trial& trial) const {
    if (trial.failure->kind == FailureKind::kDiffers) return false;
    const std::string text = SignatureOf({}, *trial.failure);
    return std::ranges::any_of(folder_.findings(), [&](const Finding& one) {
      return one.signature.starts_with(text) &&
             HasSuspect(*trial.module, one.signature.substr(text.size()), one.types);
    });
  }

  // True if it is a fault, new or not.
  Result<bool> FollowUp(const Trial& trial, const SmallFailure& small) {
    HLOSCOPE_TRY(folder_.Reread());
    const auto same = [&](const Finding& one) { return one.signature == small.signature; };
    if (std::ranges::any_of(folder_.findings(), same)) return true;
    auto& explained = progress().explained_signatures;
    if (std::ranges::find(explained, small.signature) != explained.end()) return false;
    Examined examined = Examine(small, trial.request, stop_);
    if (stop_.stop_requested()) return true;
    if (!examined.explanation.empty()) {
      ++progress().reasons["explained: " + examined.explanation];
      // Whatever is wrong beyond the last digits is looked at each time.
      if (small.signature.find("slight") != std::string::npos) {
        explained.push_back(small.signature);
      }
      return false;
    }
    HLOSCOPE_TRY(Keep(trial, small, examined));
    return true;
  }

  // Files first, then the line that names them.
  Status Keep(const Trial& trial, const SmallFailure& small, Examined& examined) {
    Finding& finding = examined.finding;
    finding.origin = trial.origin;
    const std::string stem = FileStem("fault", finding.fault);
    finding.module = stem + ".hlo";
    KeptFault fault{&examined, trial.request, InFolder(finding.module), "",
                    InFolder(stem + ".hlob")};
    HLOSCOPE_TRY(WriteFileAtomically(fault.module, TextOf(*small.smallest.module)));
    HLOSCOPE_TRY(WriteInputs(small.smallest, stem, finding.inputs));
    // Of what dies before it has read them, nobody can tell the inputs: those of the seed do.
    const bool differs = small.failure.kind == FailureKind::kDiffers;
    if (differs && !finding.inputs.empty()) fault.inputs = InFolder(finding.inputs);
    if (request_.make_bundle) {
      const Status made = request_.make_bundle(fault);
      if (stop_.stop_requested()) return {};
      if (made.has_value()) finding.bundle = stem + ".hlob";
      if (!made.has_value()) ++progress().reasons["no bundle: " + made.error().message];
    }
    HLOSCOPE_TRY(folder_.Append(finding));
    if (request_.on_finding) request_.on_finding(finding);
    return {};
  }

  // What fails in another way each time is no finding, but nothing is lost.
  Status Keep(const Trial& trial, const UnstableFailure& failure) {
    UnstableProgram program;
    program.origin = trial.origin;
    const std::string text = TextOf(*failure.candidate.module);
    const std::string stem = FileStem("unstable", text);
    program.module = stem + ".hlo";
    HLOSCOPE_TRY(WriteFileAtomically(InFolder(program.module), text));
    HLOSCOPE_TRY(WriteInputs(failure.candidate, stem, program.inputs));
    for (const RunOutcome& outcome : failure.outcomes) program.runs.push_back(ToString(outcome));
    HLOSCOPE_TRY(folder_.Reread());
    const auto is_same = [&](const UnstableProgram& one) { return one.module == program.module; };
    if (std::ranges::any_of(folder_.unstable(), is_same)) return {};
    return folder_.Append(program);
  }

  // `file` is left empty where there are none.
  Status WriteInputs(const Candidate& candidate, const std::string& stem, std::string& file) const {
    std::vector<hlo::Literal> leaves;
    for (const hlo::Literal& argument : candidate.arguments) {
      for (hlo::Literal& leaf : dump::FlattenLiteral(argument)) leaves.push_back(std::move(leaf));
    }
    if (leaves.empty()) return {};
    file = stem + ".npz";
    return dump::WriteTensors(InFolder(file), dump::TensorNames::kInputs, leaves);
  }

  std::string InFolder(const std::string& name) const { return folder_.path() + "/" + name; }

  const HuntRequest& request_;
  HuntFolder& folder_;
  std::stop_token stop_;
  Clock::time_point start_;
  double spent_ = 0;                             // by those that were killed before
  std::shared_ptr<replay::WorkerPool> workers_;  // of the next batch
};

}  // namespace

HuntReport Hunt(const HuntRequest& request, const std::stop_token& stop) {
  HuntReport report;
  Result<HuntFolder> folder =
      HuntFolder::Open(request.folder, request.rank, WhatIs(request), request.run.limits);
  if (!folder.has_value()) {
    report.error = std::move(folder).error();
    return report;
  }
  if (request.on_finding) {
    for (const Finding& finding : folder->findings()) request.on_finding(finding);
  }
  const Status ran = Hunting(request, *folder, stop).Run();
  if (!ran.has_value()) report.error = ran.error();
  report.stopped = stop.stop_requested();
  report.progress = folder->progress();
  report.findings = folder->findings();
  report.unstable = folder->unstable();
  report.known =
      std::ranges::count_if(report.findings, [](const Finding& one) { return !one.known.empty(); });
  return report;
}

}  // namespace hloscope::debug
