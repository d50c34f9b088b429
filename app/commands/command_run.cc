// `hloscope run`: runs modules.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/pack_bundle.h"
#include "app/commands/record_profile.h"
#include "app/commands/run_ptx.h"
#include "app/commands/trace_kernel.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/instruction_report.h"
#include "app/reports/run_report.h"
#include "app/run_options.h"
#include "app/workers.h"
#include "app/written_files.h"
#include "core/base/format_text.h"
#include "core/debug/run/failure.h"
#include "core/dump/dump_model.h"
#include "core/dump/stage_order.h"
#include "core/hlo/text/value_text.h"
#include "core/replay/platform_table.h"
#include "core/replay/ranks.h"

namespace hloscope::app {
namespace {

using debug::RunReport;
using debug::RunSpec;

class RunCommand : public Command {
 public:
  RunCommand() {
    shared_.request().test.name = replay::DefaultPlatform().name;
    shared_.request().execution.names_refused = true;
    shared_.request().compare.hints = true;
  }

  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
        {.name = "modules",
         .target = &modules_,
         .help = "module files; a folder stands for its modules before optimizations; - is "
                 "standard input",
         .value = "MODULE",
         .required = true}};
    for (std::vector<OptionSpec> specs :
         {shared_.Specs(RunGroup::kInputs), shared_.Specs(RunGroup::kOutputs), OutputOptions(),
          shared_.Specs(RunGroup::kComparison), shared_.Specs(RunGroup::kIsolation),
          shared_.Specs(RunGroup::kMetrics), shared_.Specs(RunGroup::kRepeats),
          shared_.Specs(RunGroup::kExecution), bundle_.Specs(), ptx_.Specs()}) {
      for (OptionSpec& spec : specs) all.push_back(std::move(spec));
    }
    for (OptionSpec& spec : all) {
      if (spec.given == nullptr && !spec.positional()) spec.given = &given_;
    }
    return all;
  }

  int Run(const Context& context) override {
    const Result<int> status = RunAll(context);
    if (status) return *status;
    if (ranks_) ranks_->Fail(status.error());
    return FailEach("module", modules_, status.error(), context);
  }

 private:
  Result<int> RunAll(const Context& context) {
    // First of all: the other ranks are told of what is refused from here on.
    if (!ranks_folder_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(replay::RankPlace place, replay::TakeRank(ranks_folder_));
      is_silent_ = place.rank > 0;
      ranks_.emplace(std::move(place));
    }
    const std::vector<std::string>& given = shared_.given();
    if (PtxRun::IsPtx(modules_.front()) && std::ranges::find(given, "--platform") == given.end())
      request_.test.name = PtxRun::DefaultPlatform();
    HLOSCOPE_TRY(Prepare(context));
    given_.insert(given_.end(), given.begin(), given.end());
    HLOSCOPE_TRY(ptx_.Check(modules_, given_));
    if (PtxRun::IsPtx(modules_.front())) {
      const CancelOnSignals cancel;
      return ptx_.Run(modules_.front(), request_, print_literals_, context, cancel.token());
    }
    const ExpandedPaths expanded =
        ExpandDirectories(modules_, context.limits, BeforeOptimization,
                          "no module before optimizations in this folder");
    const std::vector<std::string>& files = expanded.files;
    if (ranks_) {
      HLOSCOPE_TRY(PrepareRank(files.size() + expanded.failed.size()));
      if (!expanded.failed.empty()) return std::unexpected(expanded.failed.front().second);
    }
    if (bundle_.asked() && files.size() != 1) return InputError("--bundle takes one module");
    if (!profile_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(profile_, ProfilePath(profile_, files));
      sinks_.recorder = &recorder_.emplace();
    }
    if (IsMeasured() && profile_.empty()) {
      return InputError(fmt::format("--{}: its measurements are part of a profile",
                                    sinks_.record.pc_sampling  ? "pc-sampling"
                                    : sinks_.record.loop_steps ? "loop-steps"
                                                               : "metrics"),
                        "add --profile OUT, or use `hloscope profile`");
    }
    const debug::OutputFiles& out = sinks_.files;
    HLOSCOPE_TRY(CheckFilesToWrite(
        std::vector<FileToWrite>{{"--outputs", out.outputs},
                                 {"--save_inputs", out.inputs},
                                 {"--outfeed", out.outfeed},
                                 {"--output_literals_file", out.literals},
                                 {"--profile", profile_}},
        {files, request_.inputs.files, request_.inputs.infeed, request_.compare.expect,
         std::span(&request_.inputs.literals_file, 1), std::span(&request_.inputs.constants, 1)}));
    const CancelOnSignals cancel;
    request_.execution.workers =
        StartWorkers(std::array{request_.test.name, request_.reference.name}, context.limits);
    int status = kGood;
    modules_are_many_ = files.size() > 1;
    Progress progress("run", files.size());
    for (const std::string& file : files) {
      RunReport report = Replay(file, context, cancel.token());
      // One that could not begin, or whose process died, has not informed the others.
      if (ranks_ && report.error) ranks_->Fail(*report.error);
      status = Worse(status, Tell(file, report, context, cancel.token()));
      FlushOut();  // what has finished is not lost with what comes
      if (cancel.token().stop_requested()) break;
      progress.Step();
    }
    if (recorder_) {
      const Result<std::string> written = WriteRecorded(context);
      if (!written) status = Worse(status, FailEach("module", files, written.error(), context));
    }
    return Worse(status, expanded.ReportFailed("module", context));
  }

  // What is written.
  std::vector<OptionSpec> OutputOptions() {
    return {
        {.name = "--print_literals",
         .target = &print_literals_,
         .help = "print inputs and results"},
        {.name = "--profile",
         .target = &profile_,
         .help = "record the runs and write a profile of all modules to " +
                 profiler::WrittenNames() + ", or as .hloprof into a folder",
         .value = "OUT"},
        {.name = "--trace",
         .target = &trace_text_,
         .help = "simulated GPU: print what one thread of a kernel does, line by line with values, "
                 "before the run; as fusion_3:0:17, blocks and threads also as x,y,z, and :N "
                 "at the end for execution N",
         .value = "KERNEL:BLOCK:THREAD"},
        {.name = "--ranks-folder",
         .target = &ranks_folder_,
         .help =
             "with mpirun, srun or torchrun: each process runs the device of its rank on a GPU of "
             "its machine, through NCCL; a new folder for each run, which all ranks see. Rank 0 "
             "reports, the others write errors only",
         .value = "DIR"},
        {.name = "--no-cache",
         .target = &no_cache_,
         .help =
             "recompile; do not read or write the caches of compiled modules and autotune results",
         .conflicts = {"--autotune"}},
    };
  }

  // Puts what the options say into the request.
  Status Prepare(const Context& context) {
    if (Status ready = shared_.Prepare(context); !ready) return ready;
    request_.load.object_cache = !no_cache_;
    if (no_cache_) request_.load.autotune_mode = replay::AutotuneMode::kByRule;
    if (!trace_text_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(trace_, ReadTraceSpec(trace_text_));
    }
    return bundle_.Check();
  }

  bool IsMeasured() const {
    const replay::RecordSpec& record = sinks_.record;
    return record.kernel_metrics || record.pc_sampling || record.loop_steps;
  }

  Status PrepareRank(size_t files) {
    const replay::PlatformRow* const row = replay::FindPlatform(request_.test.name);
    if (row == nullptr || !row->Has(replay::kNeedsDriver)) {
      return InputError(
          fmt::format("--ranks-folder: {} runs all devices in one process", request_.test.name),
          "platforms that have ranks: " + replay::PlatformNames(replay::kNeedsDriver));
    }
    if (files != 1) {
      return InputError(fmt::format("--ranks-folder takes one module, these are {}", files),
                        "name one file");
    }
    if (bundle_.asked() || request_.execution.host_fallback || request_.compare.isolate || trace_) {
      return InputError(
          "--ranks-folder does not go with --bundle, --fallback cpu, --isolate_instructions or "
          "--trace",
          "run it in one process for these");
    }
    if (IsMeasured()) {
      return InputError(
          "--ranks-folder does not go with --metrics or --pc-sampling: they run a module once more",
          "run it in one process for these");
    }
    if (request_.load.autotune_mode == replay::AutotuneMode::kByTime) {
      return InputError(
          "--ranks-folder does not go with --autotune: each rank would select its own algorithms",
          "run it once in one process with --autotune, then without: the autotune results are "
          "kept");
    }
    const replay::PlatformRow* const reference = replay::FindPlatform(request_.reference.name);
    if (reference != nullptr && reference->Has(replay::kNeedsDriver)) {
      return InputError(
          fmt::format("--ranks-folder: the reference platform {} would need ranks too",
                      request_.reference.name),
          fmt::format("--reference_platform {}", replay::ReferencePlatform().name));
    }
    request_.execution.environment.push_back(replay::RankVariable(ranks_->place()));
    if (!is_silent_) return {};
    // What rank 0 compares and writes.
    request_.reference.name.clear();
    request_.compare.expect.clear();
    profile_.clear();
    sinks_.files = {};
    return {};
  }

  // The modules of a dump as they were before optimization; of a folder without one those that lie
  // in it.
  static std::vector<std::string> BeforeOptimization(const dump::DumpModel& model) {
    std::vector<std::string> dumped, others;
    for (size_t m = 0; m < model.modules().size(); ++m) {
      const auto& [stages, id] = std::tie(model.modules()[m].stages, model.modules()[m].id);
      const auto at = static_cast<int32_t>(m);
      const int32_t file =
          stages.empty() ? model.FindFile(at, dump::FileRole::kStableHlo) : model.ModuleFile(at, 0);
      if (file < 0) continue;
      if (!stages.empty() && dump::PhaseOf(stages.front().name) == dump::StagePhase::kInput) {
        dumped.push_back(model.FullPath(file));
      } else if (id < 0) {
        others.push_back(model.FullPath(file));
      }
    }
    return dumped.empty() ? others : dumped;
  }

  // What each of several modules writes: F.STEM.npz for F.npz, DIR/STEM for DIR.
  debug::OutputFiles OwnFiles(const std::string& file) {
    const std::string base = file == "-" ? "stdin" : ModuleStem(file);
    std::string stem = base;
    for (int64_t n = 2; !stems_.insert(stem).second; ++n) stem = fmt::format("{}.{}", base, n);
    debug::OutputFiles files = sinks_.files;
    for (std::string* path : {&files.outputs, &files.inputs, &files.outfeed, &files.literals}) {
      if (path->empty()) continue;
      const std::filesystem::path asked(*path);
      const std::string extension = asked.extension().string();
      std::error_code error;
      const bool is_folder = std::filesystem::is_directory(asked, error) ||
                             (extension.empty() && path != &files.literals);
      *path = is_folder ? (asked / stem).string()
                        : (asked.parent_path() / asked.stem()).string() + "." + stem + extension;
    }
    return files;
  }

  RunReport Replay(const std::string& file, const Context& context, std::stop_token stop) {
    std::optional<debug::CommandSpan> span(std::in_place, sinks_.recorder, "read " + file);
    const auto start = std::chrono::steady_clock::now();
    Result<LoadedRun> loaded = shared_.Load(file, context.limits, stop);
    if (!loaded) return RefusedRun(request_, loaded.error());
    span.reset();
    const double load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    RunSpec& request = loaded->request;
    request.budget.deadline = loaded->translated_by;
    debug::RunSinks sinks = sinks_;
    if (modules_are_many_) sinks.files = OwnFiles(file);
    StatusLine line;
    std::mutex mutex;
    sinks.on_progress = [&](const replay::RunProgress& progress) {
      const std::lock_guard lock(mutex);
      line.Show(fmt::format("run: {} of {} {}", progress.done, progress.total, progress.what));
    };
    sinks.on_instruction = [&](const debug::InstructionReport& instruction) {
      const std::lock_guard lock(mutex);
      StatusLine::Wipe();
      context.json ? WriteOut(InstructionReportJson(file, instruction))
                   : PrintOut(InstructionReportText(instruction));
      FlushOut();
    };
    if (trace_) {
      Status traced = TraceKernel(*trace_, loaded->module, request, context.json, stop);
      if (!traced) return RefusedRun(request, std::move(traced).error());
    }
    RunReport report = debug::RunModule(loaded->module, request, sinks, std::move(stop));
    report.timing.load_ms += load_ms;
    return report;
  }

  int Tell(const std::string& file, RunReport& report, const Context& context,
           const std::stop_token& stop) {
    const int status = app::ExitStatusOf(report);
    std::string line;
    if (!context.json && !is_silent_) PrintOut(RunReportText(file, report));
    if (const auto error = RunReportError(file, report)) PrintError(*error);
    if (print_literals_ && !context.json && !is_silent_) PrintLiterals(report);
    int made = kGood;
    std::string profile;
    std::optional<Error> unwritten;
    if (recorder_ && !modules_are_many_) {
      Result<std::string> written = WriteRecorded(context);
      if (written) {
        profile = *std::move(written);
      } else {
        unwritten = written.error();
        PrintError(*unwritten);
        made = ExitStatusOf(*unwritten);
      }
    }
    if (context.json && !is_silent_) line = ReportJson(file, report, unwritten);
    if (bundle_.asked()) {
      FlushOut();
      BundleFindings findings{.report = std::move(report)};
      findings.profile = std::move(profile);
      made = Worse(made, bundle_.Make(file, std::move(findings), shared_, context, stop, line));
    } else if (!context.json && !is_silent_ && IsWorthReporting(report)) {
      PrintOut(ReportHint(file, shared_.OptionsText(request_)));
    }
    WriteOut(line);
    return Worse(status, made);
  }

  // With what could not be written of a run that has no other error.
  std::string ReportJson(const std::string& file, RunReport& report,
                         const std::optional<Error>& unwritten) const {
    if (!unwritten || report.error) return RunReportJson(file, report, print_literals_);
    const debug::RunStatus ended = std::exchange(report.status, debug::StatusOf(*unwritten));
    report.error = unwritten;
    std::string line = RunReportJson(file, report, print_literals_);
    report.status = ended;
    report.error.reset();
    return line;
  }

  // What `profile --json` says of what was recorded; empty where nobody asks.
  Result<std::string> WriteRecorded(const Context& context) {
    std::vector<profiler::Loss> lost;
    const Result<ProfileReport> written =
        FinishProfile(*recorder_, profile_, bundle_.asked(), lost, context);
    recorder_.reset();
    sinks_.recorder = nullptr;
    if (!written) return std::unexpected(written.error());
    if (!context.json) PrintOut(WrittenText(*written, lost));
    return bundle_.asked() ? ProfileJson(*written) : std::string();
  }

  // What is refused, or not supported, is no fault.
  static bool IsWorthReporting(const RunReport& report) {
    const bool ran = !report.error || report.status == debug::RunStatus::kDied;
    return ran && debug::FailureOf(report).has_value();
  }

  static void PrintLiterals(const RunReport& report) {
    std::string out;
    auto add = [&](std::string_view name, size_t k, const hlo::Literal& value) {
      out += FormatText("{}{} {} ", name, k, hlo::ToString(value.shape(), false));
      hlo::AppendLiteral(out, value, false);
      out += '\n';
    };
    for (size_t k = 0; k < report.arguments.size(); ++k) add("input ", k, report.arguments[k]);
    for (size_t k = 0; k < report.outputs.size(); ++k) {
      if (!report.outputs[k].missing) add("output ", k, report.outputs[k].value);
    }
    PrintOut(out);
  }

  std::vector<std::string> modules_;
  RunOptionSet shared_;
  RunSpec& request_ = shared_.request();
  debug::RunSinks& sinks_ = shared_.sinks();
  BundleStep bundle_;
  PtxRun ptx_;
  std::vector<std::string> given_;  // names of options
  std::string profile_, trace_text_;
  std::optional<TraceSpec> trace_;
  std::optional<debug::RunRecorder> recorder_;
  bool print_literals_ = false, no_cache_ = false;
  std::string ranks_folder_;
  std::optional<replay::Ranks> ranks_;
  bool is_silent_ = false;  // another rank than 0
  bool modules_are_many_ = false;
  std::set<std::string> stems_;  // names that files of modules have
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace hloscope::app
