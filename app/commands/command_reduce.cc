// `hloscope reduce`: the smallest module that still fails the same way.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/pack_bundle.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/reduce_report.h"
#include "app/run_options.h"
#include "app/written_files.h"
#include "core/base/counted.h"
#include "core/base/escape.h"
#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/debug/bundle/take_values.h"
#include "core/debug/record/unused_path.h"
#include "core/debug/reduce/reduce_module.h"
#include "core/debug/reduce/write_candidate.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

using debug::Candidate;
using debug::ReduceReport;
using debug::RunSpec;

// The smallest so far is written this often.
constexpr std::chrono::milliseconds kBetweenWrites{500};

class ReduceCommand : public Command {
 public:
  ReduceCommand() { shared_.GenerateValues(); }

  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
        {.name = "module",
         .target = &files_.module,
         .help = "a module that fails: its values differ from those of a reference, it crashes, "
                 "meets its deadline or its memory limit, is refused with an error, or makes a NaN "
                 "(--find nan); exit status 1 if it does not fail. A bundle is run as it was "
                 "recorded, unless options say otherwise",
         .value = "MODULE",
         .required = true},
        {.name = "-o",
         .target = &files_.output,
         .help = "the smallest module as HLO text; inputs that the seed does not generate are "
                 "written next to it as .npz (under another name where there is such a file)",
         .value = "OUT",
         .required = true},
        {.name = "--script",
         .target = &script_,
         .help = "a program that exits with 0 if the .hlo file that is its argument still fails; "
                 "several may run at a time, each in a scratch folder of its own",
         .value = "PREDICATE"},
        {.name = "--minutes",
         .target = &minutes_,
         .help = "stop after this long with the smallest so far; --deadline is that of each run",
         .value = "M",
         .positive = true},
    };
    for (std::vector<OptionSpec> specs :
         {shared_.Specs(RunGroup::kInputs), shared_.Specs(RunGroup::kComparison),
          shared_.Specs(RunGroup::kRepeats), shared_.Specs(RunGroup::kExecution),
          bundle_.Specs()}) {
      for (OptionSpec& spec : specs) all.push_back(std::move(spec));
    }
    return all;
  }

  int Run(const Context& context) override {
    if (Status ready = Check(context); !ready) return Tell(Refused(ready.error()), context, {});
    const CancelOnSignals cancel;
    return Tell(Reduce(context, cancel.token()), context, cancel.token());
  }

 private:
  static ReduceReport Refused(Error error) {
    ReduceReport report;
    report.error = std::move(error);
    return report;
  }

  Status Check(const Context& context) {
    if (script_.empty()) {
      HLOSCOPE_TRY(debug::TakeRecordedRun(files_.module, shared_.given(), shared_.request(),
                                          context.limits));
    }
    HLOSCOPE_TRY(shared_.Prepare(context));
    HLOSCOPE_TRY(bundle_.Check());
    if (bundle_.asked() && !script_.empty()) {
      return InputError("--bundle needs a run; --script has none");
    }
    for (const std::string& platform :
         {shared_.request().test.name, shared_.request().reference.name}) {
      if (!platform.empty()) HLOSCOPE_TRY(replay::CheckPlatform(platform));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const ModuleForm form, ModuleFormFromPath(files_.output));
    if (form != ModuleForm::kHlo || files_.output.ends_with(".gz")) {
      return InputError(files_.output + ": expected a name in .hlo");
    }
    const debug::RunSpec& request = shared_.request();
    return CheckFilesToWrite(
        std::vector<FileToWrite>{{"-o", files_.output}, {"--bundle", bundle_.file()}},
        {std::span(&files_.module, 1), request.inputs.files, request.compare.expect,
         request.inputs.infeed, std::span(&request.inputs.constants, 1)});
  }

  // As StartWorkers, but the modules that workers die of here are not kept as evidence.
  std::shared_ptr<replay::WorkerPool> Workers(const Limits& limits, int jobs) const {
    replay::WorkerPoolOptions options;
    options.most_frame_bytes = limits.worker_frame_bytes;
    options.most_workers = jobs;
    return std::make_shared<replay::WorkerPool>(std::move(options));
  }

  ReduceReport Reduce(const Context& context, const std::stop_token& cancelled) {
    auto loaded = shared_.Load(files_.module, context.limits, cancelled);
    if (!loaded) return Refused(loaded.error());
    std::stop_source stop;
    const std::stop_callback on_cancel(cancelled, [&stop] { stop.request_stop(); });
    const std::jthread clock = StopInTime(stop);
    debug::ReduceRequest request;
    request.jobs = static_cast<int>(context.jobs > 0 ? context.jobs : AvailableCpus());
    request.run = loaded->request;
    request.run.execution.workers = Workers(context.limits, request.jobs);
    request.script = script_;
    StatusLine line;
    request.on_progress = [&](const debug::SearchProgress& progress) {
      line.Show(fmt::format("reduce: {} of {}, {}, without {}", progress.instructions,
                            Counted(loaded->module->instructions().size(), "instruction"),
                            Counted(progress.tries, "try", "tries"), progress.reduction));
    };
    request.on_better = [&](const Candidate& candidate, const debug::Failure&) {
      const auto now = std::chrono::steady_clock::now();
      if (now < next_write_) return;
      next_write_ = now + kBetweenWrites;
      (void)Write(candidate, !script_.empty());
    };
    ReduceReport report = debug::ReduceModule(loaded->module, request, stop.get_token());
    if (report.status != debug::ReduceStatus::kReduced) {
      files_.output.clear();
      return report;
    }
    if (Status written = Write(report.smallest, report.inputs_from_seed); !written) {
      return Refused(written.error());
    }
    if (!files_.inputs.empty() && files_.inputs != UsualInputs()) {
      report.notes.push_back(fmt::format("{} was there before and is kept; the inputs are in {}",
                                         UsualInputs(), files_.inputs));
    }
    WriteCommand(report);
    return report;
  }

  std::jthread StopInTime(std::stop_source& stop) const {
    if (!minutes_) return {};
    const auto most = std::chrono::duration<double, std::ratio<60>>(std::min(*minutes_, 1e6));
    return std::jthread([&stop, most](const std::stop_token& over) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      if (never.wait_for(lock, over, most, [] { return false; }); !over.stop_requested()) {
        stop.request_stop();
      }
    });
  }

  std::string UsualInputs() const {
    return std::filesystem::path(files_.output).replace_extension(".npz").string();
  }

  Status Write(const Candidate& candidate, bool inputs_from_seed) {
    if (inputs_.empty()) inputs_ = UnusedPath(UsualInputs());
    HLOSCOPE_ASSIGN_OR_RETURN(
        const bool has_inputs,
        debug::WriteCandidate(candidate, inputs_from_seed, files_.output, inputs_));
    // Inputs of a larger module that was written before belong to nothing any more.
    if (!has_inputs && !files_.inputs.empty()) std::filesystem::remove(files_.inputs);
    files_.inputs = has_inputs ? inputs_ : "";
    return {};
  }

  void WriteCommand(const ReduceReport& report) {
    if (!script_.empty()) {
      files_.command = Quoted(script_) + " " + Quoted(files_.output);
      return;
    }
    RunSpec request = shared_.request();
    request.reference.name = report.reference_platform;
    request.compare.expect.clear();
    if (!request.repeats.different_random_seeds) {
      request.inputs.seed = report.seed;
      request.repeats.iterations = 1;
    }
    request.inputs = request.inputs.With({});
    if (!files_.inputs.empty()) request.inputs.files = {files_.inputs};
    files_.command = "hloscope run " + Quoted(files_.output) + shared_.OptionsText(request);
  }

  int Tell(const ReduceReport& report, const Context& context, const std::stop_token& stop) {
    std::string line;
    if (!context.json) PrintOut(ReduceReportText(files_, report));
    if (context.json) line = ReduceReportJson(files_, report);
    if (report.error) PrintError(*report.error);
    int made = kGood;
    if (report.status == debug::ReduceStatus::kReduced && script_.empty()) {
      made = Report(report, context, stop, line);
    }
    WriteOut(line);
    return Worse(ExitStatusOf(report), made);
  }

  // The bundle, or how to make one.
  int Report(const ReduceReport& report, const Context& context, const std::stop_token& stop,
             std::string& line) {
    RunSpec& request = shared_.request();
    request.reference.name = report.reference_platform;
    if (bundle_.asked()) {
      FlushOut();
      BundleFindings found{.reduced = report.smallest.module};
      if (!files_.inputs.empty()) found.reduced_arguments = report.smallest.arguments;
      return bundle_.Make(files_.module, std::move(found), shared_, context, stop, line);
    }
    if (!context.json) {
      std::string reduced = " --reduced " + Quoted(files_.output);
      if (!files_.inputs.empty()) reduced += " --reduced-inputs " + Quoted(files_.inputs);
      PrintOut(ReportHint(files_.module, reduced + shared_.OptionsText(request)));
    }
    return kGood;
  }

  ReduceFiles files_;
  std::string inputs_;  // where those of the reduced module are written
  std::string script_;
  std::optional<double> minutes_;
  RunOptionSet shared_;
  BundleStep bundle_;
  std::chrono::steady_clock::time_point next_write_;
};

}  // namespace

std::unique_ptr<Command> MakeReduceCommand() { return std::make_unique<ReduceCommand>(); }

}  // namespace hloscope::app
