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
constexpr size_t kMaxReason = 120;      // characters
constexpr uint64_t kEdgesEvery = 3;     // every third program gets edge values

// In errors by which a platform reports an unsupported feature, which is not a bug.
constexpr std::string_view kRefusals[] = {
    "UNIMPLEMENTED",  "Unimplemented", "not implemented", "not supported",
    "Unknown opcode", "Unsupported",   "unsupported",
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
std::string WhatIs(const FuzzRequest& request) {
  std::string what =
      fmt::format("seed {}, rank {} of {}, {} against {}", request.seed, request.rank,
                  request.ranks, request.run.test.name, request.run.reference.name);
  for (const FuzzModule& module : request.modules) {
    what += fmt::format(", {} ({:016x})", module.name, FingerprintOf({module.module, {}}));
  }
  return what;
}

// The name of files: of a fault by its key's hash.
std::string FileStem(std::string_view what, std::string_view key) {
  return fmt::format("{}-{:016x}", what, FnvOf(key));
}

// One program and what came of it.
struct FuzzCase {
  uint64_t number = 0;
  std::string origin;
  std::shared_ptr<const hlo::Module> module;
  std::string refused;  // why it does not count; empty: it ran
  RunSpec request;
  RunReport report;
  std::optional<Failure> failure;
  Retried again;  // of a failure
};

class Fuzzer {
 public:
  Fuzzer(const FuzzRequest& request, FuzzFolder& folder, std::stop_token stop)
      : request_(request),
        folder_(folder),
        stop_(std::move(stop)),
        start_(Clock::now()),
        workers_(request.run.execution.workers) {}

  Status Run() {
    spent_ = folder_.progress().seconds;
    while (!IsOver()) HLOSCOPE_TRY(RunBatch());
    return {};
  }

 private:
  FuzzProgress& progress() { return folder_.progress(); }

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
    std::vector<FuzzCase> fuzz_cases;
    for (int64_t i = 0; i < kBatch * request_.jobs; ++i) {
      const uint64_t number = NumberAt(progress().next + static_cast<uint64_t>(i));
      if (HasNumber(number)) fuzz_cases.emplace_back().number = number;
    }
    const Status ran = ParallelFor(
        static_cast<int64_t>(fuzz_cases.size()), request_.jobs,
        [&](int64_t i) { Try(fuzz_cases[static_cast<size_t>(i)]); }, stop_);
    if (stop_.stop_requested()) return {};
    HLOSCOPE_TRY(ran);
    // What failed may have damaged the memory of its worker.
    const bool any_failed = std::ranges::any_of(
        fuzz_cases, [](const FuzzCase& fuzz_case) { return !fuzz_case.again.outcomes.empty(); });
    if (any_failed) workers_ = FreshWorkers(request_.run);
    bool is_saved = true;
    for (FuzzCase& fuzz_case : fuzz_cases) {
      HLOSCOPE_TRY(Triage(fuzz_case));
      if (stop_.stop_requested()) break;
      ++progress().next;
      progress().seconds = spent_ + Seconds();
      is_saved = !fuzz_case.failure;
      if (!is_saved) HLOSCOPE_TRY(folder_.SaveProgress());
      if (request_.on_progress) request_.on_progress(progress(), folder_.findings().size());
      if (IsOver()) break;
    }
    return folder_.SaveProgress();
  }

  void Make(FuzzCase& fuzz_case) const {
    fuzz_case.origin = fmt::format("program {}", fuzz_case.number);
    const bool is_mutant = !request_.modules.empty() && fuzz_case.number % 2 == 1;
    if (!is_mutant) {
      fuzz_case.module = RandomProgram(request_.seed, fuzz_case.number);
      return;
    }
    const FuzzModule& of = request_.modules[fuzz_case.number / 2 % request_.modules.size()];
    fuzz_case.origin = fmt::format("mutant {} of {}", fuzz_case.number, of.name);
    auto mutant = MutantOf(of.module, Mix(request_.seed, fuzz_case.number), request_.run.limits);
    if (mutant.has_value()) {
      fuzz_case.module = *std::move(mutant);
    } else {
      fuzz_case.refused = "unsound mutants";
    }
  }

  // Numbers alone say what it runs on.
  void Try(FuzzCase& fuzz_case) const {
    Make(fuzz_case);
    if (fuzz_case.module == nullptr) return;
    if (DamagesMemory(*fuzz_case.module)) {
      fuzz_case.refused = "arrays of s1 or u1, which the platform writes beyond their buffers";
      return;
    }
    fuzz_case.request = request_.run;
    fuzz_case.request.execution.workers = workers_;
    fuzz_case.request.inputs.seed = Mix(request_.seed, fuzz_case.number) >> 32;
    fuzz_case.request.inputs.edge_values = fuzz_case.number % kEdgesEvery == 0;
    fuzz_case.request.inputs.flush_denormals = true;
    if (!fuzz_case.request.budget.seconds) fuzz_case.request.budget.seconds = kProgramSeconds;
    fuzz_case.report = RunModule(fuzz_case.module, fuzz_case.request, stop_);
    fuzz_case.failure = FailureOf(fuzz_case.report, fuzz_case.module.get());
    if (fuzz_case.failure && (fuzz_case.failure->kind == FailureKind::kDeadline ||
                              fuzz_case.failure->kind == FailureKind::kError))
      AskReference(fuzz_case);
    if (fuzz_case.failure && !IsRefusal(fuzz_case)) TryAgain(fuzz_case);
    if (fuzz_case.failure && IsRefusal(fuzz_case)) {
      fuzz_case.refused = fuzz_case.failure->fingerprint().substr(0, kMaxReason);
      fuzz_case.failure.reset();
    }
  }

  // Time that ran out, and a refusal, say nothing where the reference has no values either: a
  // mutant's loop may have no end, and its types no meaning.
  void AskReference(FuzzCase& fuzz_case) const {
    if (fuzz_case.request.reference.name.empty()) return;
    const RunSpec alone =
        DerivedSpec(fuzz_case.request, TestOn(fuzz_case.request, fuzz_case.request.reference.name),
                    fuzz_case.request.inputs);
    const RunReport report = RunModule(fuzz_case.module, alone, stop_);
    const auto failure = FailureOf(report, fuzz_case.module.get());
    const bool is_late = fuzz_case.failure->kind == FailureKind::kDeadline;
    if (report.status == RunStatus::kUnsupported) {
      fuzz_case.refused = fmt::format("modules that {} cannot evaluate either", alone.test.name);
    } else if (is_late && failure) {
      fuzz_case.refused = fmt::format("deadlines that {} exceeds too ({})", alone.test.name,
                                      ToString(failure->kind));
    } else if (failure && failure->kind == FailureKind::kError &&
               FailureText(*failure) == FailureText(*fuzz_case.failure)) {
      fuzz_case.refused = fmt::format("modules that {} refuses in the same words", alone.test.name);
    } else {
      return;
    }
    fuzz_case.failure.reset();
  }

  // A worker that has run other programs may fail for one of these: what fresh ones say counts.
  void TryAgain(FuzzCase& fuzz_case) const {
    fuzz_case.again = RunAgain(fuzz_case.module, fuzz_case.request, *fuzz_case.failure, stop_);
    if (stop_.stop_requested()) return;
    if (fuzz_case.again.stability == Stability::kUnstable) return;
    fuzz_case.failure = fuzz_case.again.failure;
    fuzz_case.report = std::move(fuzz_case.again.report);
  }

  // What comes of it, and of what its worker does next, nobody can tell: nor would it repeat.
  bool DamagesMemory(const hlo::Module& module) const {
    const auto overruns = [&](const std::string& name) {
      const replay::PlatformRow* row = replay::FindPlatform(name);
      return row != nullptr && replay::OverrunsBits(*row, module);
    };
    return overruns(request_.run.test.name) || overruns(request_.run.reference.name);
  }

  // What a platform says it does not do, or this machine lacks, is no fault.
  static bool IsRefusal(const FuzzCase& fuzz_case) {
    if (fuzz_case.report.status == RunStatus::kUnsupported) return true;
    if (!fuzz_case.report.error) return false;
    const Error& error = *fuzz_case.report.error;
    if (error.error_class == ErrorClass::kEnvironment) return true;
    // What a process printed before it died may be of another program.
    if (IsExecutionFailure(error.error_class)) return false;
    return error.error_class == ErrorClass::kUnsupported ||
           std::ranges::any_of(kRefusals, [&](std::string_view text) {
             return error.message.find(text) != std::string::npos;
           });
  }

  Status Triage(FuzzCase& fuzz_case) {
    if (!fuzz_case.refused.empty()) {
      ++progress().refused;
      ++progress().reasons[fuzz_case.refused];
    }
    if (fuzz_case.module != nullptr) ++progress().programs;
    const bool was_tried_again = !fuzz_case.again.outcomes.empty();
    if (was_tried_again && fuzz_case.again.stability == Stability::kGone) {
      ++progress().reasons["failures that did not repeat"];
    }
    if (!fuzz_case.failure) return {};
    if (fuzz_case.again.stability == Stability::kUnstable) {
      ++progress().unstable;
      return Keep(fuzz_case,
                  {{fuzz_case.module, fuzz_case.report.arguments}, fuzz_case.again.outcomes});
    }
    if (IsKnownCrash(fuzz_case)) {
      ++progress().differing;
      return {};
    }
    fuzz_case.request.execution.workers = FreshWorkers(request_.run);
    const SmallFailures found =
        SmallFailuresOf(fuzz_case.module, fuzz_case.request, fuzz_case.report, stop_);
    int64_t explained = 0;
    for (const SmallFailure& small : found.stable) {
      if (stop_.stop_requested()) return {};
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_fault, Reproduce(fuzz_case, small));
      explained += is_fault ? 0 : 1;
    }
    if (stop_.stop_requested()) return {};
    for (const UnstableFailure& one : found.unstable) HLOSCOPE_TRY(Keep(fuzz_case, one));
    if (found.stable.empty() && !found.unstable.empty()) {
      ++progress().unstable;
      return {};
    }
    ++progress().differing;
    if (found.stable.empty()) {
      // A part of a module is given the same values on each device, so that of these modules what
      // only other values there show does not repeat.
      const hlo::ModuleHeader& header = fuzz_case.module->header();
      const bool has_devices = header.replica_count != 1 || header.num_partitions != 1;
      ++progress()
            .reasons[has_devices ? "differences of modules of several devices that did not repeat"
                                 : "differences that did not repeat"];
      return {};
    }
    progress().explained += explained == static_cast<int64_t>(found.stable.size()) ? 1 : 0;
    return {};
  }

  // True if it dies or is refused as a fault that was found does, and has what that needs.
  bool IsKnownCrash(const FuzzCase& fuzz_case) const {
    if (fuzz_case.failure->kind == FailureKind::kDiffers) return false;
    const std::string text = SignatureOf({}, *fuzz_case.failure);
    return std::ranges::any_of(folder_.findings(), [&](const Finding& one) {
      return one.signature.starts_with(text) &&
             HasSuspect(*fuzz_case.module, one.signature.substr(text.size()), one.types);
    });
  }

  // True if it is a fault, new or not.
  Result<bool> Reproduce(const FuzzCase& fuzz_case, const SmallFailure& small) {
    HLOSCOPE_TRY(folder_.Reread());
    const auto same = [&](const Finding& one) { return one.signature == small.signature; };
    if (std::ranges::any_of(folder_.findings(), same)) return true;
    auto& explained = progress().explained_signatures;
    if (std::ranges::find(explained, small.signature) != explained.end()) return false;
    Examined examined = Examine(small, fuzz_case.request, stop_);
    if (stop_.stop_requested()) return true;
    if (!examined.explanation.empty()) {
      ++progress().reasons["explained: " + examined.explanation];
      // Whatever is wrong beyond the last digits is looked at each time.
      if (small.signature.find("slight") != std::string::npos) {
        explained.push_back(small.signature);
      }
      return false;
    }
    HLOSCOPE_TRY(Keep(fuzz_case, small, examined));
    return true;
  }

  // Files first, then the line that names them.
  Status Keep(const FuzzCase& fuzz_case, const SmallFailure& small, Examined& examined) {
    Finding& finding = examined.finding;
    finding.origin = fuzz_case.origin;
    const std::string stem = FileStem("fault", finding.fault);
    finding.module = stem + ".hlo";
    KeptFault fault{&examined, fuzz_case.request, InFolder(finding.module), "",
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
  Status Keep(const FuzzCase& fuzz_case, const UnstableFailure& failure) {
    UnstableProgram program;
    program.origin = fuzz_case.origin;
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

  const FuzzRequest& request_;
  FuzzFolder& folder_;
  std::stop_token stop_;
  Clock::time_point start_;
  double spent_ = 0;                             // by those that were killed before
  std::shared_ptr<replay::WorkerPool> workers_;  // of the next batch
};

}  // namespace

FuzzReport Fuzz(const FuzzRequest& request, const std::stop_token& stop) {
  FuzzReport report;
  Result<FuzzFolder> folder =
      FuzzFolder::Open(request.folder, request.rank, WhatIs(request), request.run.limits);
  if (!folder.has_value()) {
    report.error = std::move(folder).error();
    return report;
  }
  if (request.on_finding) {
    for (const Finding& finding : folder->findings()) request.on_finding(finding);
  }
  const Status ran = Fuzzer(request, *folder, stop).Run();
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
