// `hloscope hunt`: random programs and mutants on two platforms, each fault once.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/pack_bundle.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/reports/hunt_report.h"
#include "app/run_options.h"
#include "core/base/counted.h"
#include "core/base/jobs.h"
#include "core/debug/explain/diverge/write_verdict.h"
#include "core/debug/reduce/hunt/hunt.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

constexpr double kMinutes = 10;                     // where neither time nor number is given
constexpr int64_t kMemoryBytes = int64_t{4} << 30;  // of each run, where none is given

// Which of how many processes a launcher says that this is.
struct LauncherRow {
  const char *rank, *ranks;
};
constexpr LauncherRow kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},  // mpirun of Open MPI
    {"PMI_RANK", "PMI_SIZE"},                          // of MPICH and others
    {"SLURM_PROCID", "SLURM_NTASKS"},                  // srun
};

std::optional<int64_t> NumberIn(const char* variable) {
  const char* text = getenv(variable);
  if (text == nullptr) return std::nullopt;
  int64_t number = 0;
  const std::string_view all(text);
  const auto read = std::from_chars(all.data(), all.data() + all.size(), number);
  if (read.ec != std::errc() || read.ptr != all.data() + all.size()) return std::nullopt;
  return number;
}

// Those of `specs` that mean something here.
std::vector<OptionSpec> Chosen(std::vector<OptionSpec> specs,
                               const std::vector<std::string>& names) {
  std::erase_if(specs, [&](const OptionSpec& spec) {
    return std::ranges::find(names, spec.name) == names.end();
  });
  return specs;
}

class HuntCommand : public Command {
 public:
  HuntCommand() { shared_.request().test.name.clear(); }  // so that one that was named is known

  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
        {.name = "modules",
         .target = &files_,
         .help =
             "seed modules to mutate; every second program is a mutant. Without any, all programs "
             "are random",
         .value = "MODULE"},
        {.name = "-o",
         .target = &request_.folder,
         .help = "the folder of findings; an interrupted run resumes in its folder",
         .value = "DIR",
         .required = true},
        {.name = "--minutes",
         .target = &request_.minutes,
         .help =
             fmt::format("run for this many minutes ({:g}, unless --programs is given)", kMinutes),
         .value = "M",
         .positive = true},
        {.name = "--programs",
         .target = &request_.programs,
         .help = "stop after this many programs",
         .value = "N",
         .min = 0},
        {.name = "--rank",
         .target = &rank_,
         .help = "index of this process among those that share the work, from 0; by default from "
                 "mpirun or srun",
         .value = "R",
         .min = 0},
        {.name = "--ranks",
         .target = &ranks_,
         .help = "number of processes; each with the same folder, seed and modules",
         .value = "N",
         .min = 1}};
    for (std::vector<OptionSpec> specs :
         {Chosen(shared_.Specs(RunGroup::kInputs), {"--platform", "--seed", "--input_format"}),
          Chosen(shared_.Specs(RunGroup::kComparison),
                 {"--reference_platform", "--reference-python", "--reference-flag",
                  "--abs_error_bound", "--rel_error_bound"}),
          Chosen(shared_.Specs(RunGroup::kExecution),
                 {"--deadline", "--memory", "--threads", "--target", "--check", "--shuffle",
                  "--python", "--debug_options_file", std::string(kXlaFlags)})}) {
      for (OptionSpec& spec : specs) {
        if (spec.name == "--platform")
          spec.help = fmt::format("the platform to test; by default {}",
                                  replay::PlatformWith(replay::kDumps)->name);
        if (spec.name == "--seed") spec.help = "seed of the random programs (0)";
        if (spec.name == "--reference_platform")
          spec.help = "the reference platform; by default the interpreter";
        all.push_back(std::move(spec));
      }
    }
    return all;
  }

  int Run(const Context& context) override {
    if (Status ready = Prepare(context); !ready) return Fail(InputKeys(), ready.error(), context);
    const CancelOnSignals cancel;
    if (Status loaded = LoadModules(context, cancel.token()); !loaded) {
      return Fail(InputKeys(), loaded.error(), context);
    }
    request_.run = shared_.request();
    request_.run.execution.workers = Workers(context.limits);
    StatusLine line;
    request_.on_finding = [&](const debug::Finding& finding) {
      context.json ? WriteOut(debug::FindingLine(finding)) : PrintOut(FindingText(finding));
      FlushOut();
    };
    request_.on_progress = [&](const debug::FuzzProgress& progress, size_t faults) {
      line.Show(fmt::format("hunt: {}, {} differ, {}", Counted(progress.programs, "program"),
                            progress.differing, Counted(faults, "fault")));
    };
    request_.make_bundle = [&](const debug::KeptFault& fault) {
      return MakeBundle(fault, context.limits, cancel.token());
    };
    const debug::FuzzReport report = debug::Fuzz(request_, cancel.token());
    context.json ? WriteOut(FuzzReportJson(report)) : PrintOut(FuzzReportText(report));
    if (report.error) PrintError(*report.error);
    return ExitStatusOf(report);
  }

 private:
  Status Prepare(const Context& context) {
    debug::RunSpec& run = shared_.request();
    if (run.test.name.empty()) run.test.name = replay::PlatformWith(replay::kDumps)->name;
    if (run.reference.name.empty()) run.reference.name = replay::ReferencePlatform().name;
    HLOSCOPE_TRY(shared_.Prepare(context));
    shared_.PrintNotes();
    for (const std::string& platform : {run.test.name, run.reference.name}) {
      HLOSCOPE_TRY(replay::CheckPlatform(platform));
    }
    HLOSCOPE_TRY(CheckCompiles(run.test.name, run.load.gpu_target));
    HLOSCOPE_TRY(CheckCompiles(run.reference.name, run.load.gpu_target));
    if (run.budget.memory_bytes == 0) run.budget.memory_bytes = kMemoryBytes;
    request_.seed = run.inputs.seed;
    request_.jobs = static_cast<int>(context.jobs > 0 ? context.jobs : AvailableCpus());
    if (run.budget.threads == 0) run.budget.threads = 1;  // several programs run at a time instead
    if (!request_.minutes && !request_.programs) request_.minutes = kMinutes;
    return FindRank();
  }

  // Programs of a hunt lie in no dump.
  static Status CheckCompiles(const std::string& platform, const std::string& target) {
    const replay::PlatformRow* const row = replay::FindPlatform(platform);
    if (row == nullptr || !row->Has(replay::kRunsDumps) || !target.empty()) return {};
    return InputError(
        fmt::format("{} needs --target: random programs are not in a dump that names a device",
                    platform),
        "for example --target h100");
  }

  // What was given, else what the launcher says.
  Status FindRank() {
    for (const LauncherRow& row : kLaunchers) {
      const auto rank = NumberIn(row.rank), ranks = NumberIn(row.ranks);
      if (rank_ || ranks_ || !rank || !ranks) continue;
      rank_ = rank;
      ranks_ = ranks;
    }
    request_.rank = rank_.value_or(0);
    request_.ranks = ranks_.value_or(1);
    if (request_.ranks < 1 || request_.rank < 0 || request_.rank >= request_.ranks) {
      return InputError(fmt::format("--rank {} --ranks {}: expected a rank from 0 to ranks - 1",
                                    request_.rank, request_.ranks));
    }
    return {};
  }

  Status LoadModules(const Context& context, const std::stop_token& stop) {
    for (const std::string& file : files_) {
      HLOSCOPE_ASSIGN_OR_RETURN(LoadedRun loaded, shared_.Load(file, context.limits, stop));
      request_.modules.push_back({file, loaded.module});
    }
    return {};
  }

  // The smallest module on its inputs, which go in whole: they are generated, or an engineer's own
  // numbers made simple.
  Status MakeBundle(const debug::KeptFault& fault, const Limits& limits,
                    const std::stop_token& stop) const {
    RunOptionSet run = shared_;
    debug::RunSpec& request = run.request();
    request = fault.request;
    request.inputs.arguments.clear();
    if (!fault.inputs.empty()) request.inputs.files = {fault.inputs};
    BundleFindings findings;
    const debug::DivergeVerdict& verdict = fault.examined->verdict;
    if (verdict.status == debug::RunStatus::kDiffers || !verdict.passes.empty()) {
      findings.verdict = debug::VerdictJson({fault.module}, verdict);
    }
    PackOptions options;
    options.values = "all";
    options.note = "found by hloscope hunt: " + fault.examined->finding.origin;
    BundleInput input;
    input.module = fault.module;
    const auto made =
        PackBundle(input, std::move(findings), options, run, fault.bundle, limits, stop);
    return made ? Status() : std::unexpected(made.error());
  }

  // As StartWorkers, but the programs that workers die of here are findings, not evidence.
  std::shared_ptr<replay::WorkerPool> Workers(const Limits& limits) const {
    replay::WorkerPoolOptions options;
    options.most_frame_bytes = limits.worker_frame_bytes;
    options.most_workers = request_.jobs;
    return std::make_shared<replay::WorkerPool>(std::move(options));
  }

  std::vector<std::string> files_;
  std::optional<int64_t> rank_, ranks_;
  debug::FuzzRequest request_;
  RunOptionSet shared_;
};

}  // namespace

std::unique_ptr<Command> MakeHuntCommand() { return std::make_unique<HuntCommand>(); }

}  // namespace hloscope::app
