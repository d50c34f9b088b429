// `hloscope profile FILE…`: what a trace holds, and how long which instruction took; `-o` writes it
// in another format.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>

#include "app/any_module.h"
#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/record_profile.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/attributed_modules.h"
#include "app/reports/instruction_report.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/profile_report.h"
#include "app/reports/run_report.h"
#include "app/run_options.h"
#include "app/workers.h"
#include "app/written_files.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/load.h"
#include "core/replay/gpu_targets.h"

namespace hloscope::app {
namespace {

// Whether the run found something out besides its times.
bool FoundSomething(const debug::RunReport& run) {
  return run.first_divergent || run.first_nonfinite || run.found_no_nonfinite ||
         !run.checks.empty() || run.status == debug::RunStatus::kDiffers ||
         std::ranges::any_of(run.outputs, [](const debug::RunOutput& output) {
           return output.compared || !output.precise.empty();
         });
}

class ProfileCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
        {.name = "traces",
         .target = &traces_,
         .help = "traces (" + profiler::TraceNames() +
                 ", packed or not), or folders that hold some: what has such a name is only read. "
                 "Modules (" +
                 ModuleNames() + ", or any name with --platform) are run and recorded",
         .value = "FILE",
         .required = true},
        {.name = "--module",
         .target = &modules_,
         .help = "the modules that ran, if they are not in the trace: files or dumps",
         .value = "FILE"},
        {.name = "--out",
         .target = &out_,
         .help = "write the profile as " + profiler::WrittenNames() +
                 " instead (all but .hloprof also with .gz appended); what the format cannot hold "
                 "is reported",
         .value = "FILE",
         .letter = "-o"},
        {.name = "--recordings",
         .target = &recordings_,
         .help = "of a module: record it so often, each time in new processes, since a program's "
                 "times differ from process to process; written to OUT.1, OUT.2, …",
         .value = "N",
         .min = 1},
        {.name = "--what-if",
         .target = &devices_,
         .help = "what the launches would take on these devices by the model, and why: "
                 "names and files with a GpuTargetConfigProto, as h100,l4; of launches counted on "
                 "a simulated GPU",
         .value = "DEVICE",
         .suggestions = replay::GpuTargetNames(),
         .commas = true},
        {.name = "--top", .target = &top_, .help = "rows of each table", .value = "N", .min = 0},
    };
    for (std::vector<OptionSpec> specs :
         {run_.Specs(RunGroup::kInputs), run_.Specs(RunGroup::kComparison),
          run_.Specs(RunGroup::kIsolation), run_.Specs(RunGroup::kMetrics),
          run_.Specs(RunGroup::kRepeats), run_.Specs(RunGroup::kExecution)}) {
      for (OptionSpec& spec : specs) all.push_back(std::move(spec));
    }
    return all;
  }

  int Run(const Context& context) override {
    // What is to be compared with another Python is the same platform, if none is named.
    debug::RunSpec& request = run_.request();
    request.execution.names_refused = true;
    if (!request.reference.python.empty() && request.reference.name.empty())
      request.reference.name = request.test.name;
    if (Status ready = run_.Prepare(context); !ready) return Refuse(ready.error(), context);
    for (const std::string& device : devices_) {
      auto described = replay::ReadGpuTarget(device, context.limits);
      if (!described) {
        constexpr std::string_view kTarget = "--target";
        std::string& message = described.error().message;
        if (message.starts_with(kTarget)) message.replace(0, kTarget.size(), "--what-if");
        return Refuse(described.error(), context);
      }
      what_if_.push_back(profiler::FactsFromTarget(*described));
    }
    Result<std::vector<profiler::AttributedModule>> modules =
        LoadAttributedModules(modules_, context.limits);
    if (!modules) return Refuse(modules.error(), context);
    if (!out_.empty() && traces_.size() != 1) {
      return Refuse(InputError("one trace can be written to " + out_ + ", not several").error(),
                    context);
    }
    const Status free = CheckFilesToWrite(std::vector<FileToWrite>{{"-o", out_}},
                                          {traces_, modules_, run_.request().inputs.files,
                                           std::span(&run_.request().inputs.constants, 1)});
    if (!free) return Refuse(free.error(), context);
    int status = kGood;
    const int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    Jobs jobs(threads);
    for (const std::string& given : traces_) {
      std::error_code error;
      Result<std::vector<std::string>> files = std::vector<std::string>{given};
      if (std::filesystem::is_directory(given, error))
        files = profiler::TracesBelow(given, context.limits);
      if (!files) {
        status = Worse(status, Fail(given, files.error(), context));
        continue;
      }
      if (!out_.empty() && files->size() != 1) {
        const std::unexpected<Error> several =
            InputError(given + ": holds " + std::to_string(files->size()) + " traces",
                       "name the one that is to be written");
        status = Worse(status, Fail(given, several.error(), context));
        continue;
      }
      for (const std::string& file : *files) {
        status = Worse(status, RunOne(file, *modules, context, jobs));
      }
    }
    return status;
  }

 private:
  // With --json an object for each file.
  int Refuse(const Error& error, const Context& context) const {
    return FailEach("file", traces_, error, context);
  }

  // What begins a run is the name of the file or an option, not what is in it.
  Status CheckRun(const std::string& path) const {
    if (profiler::IsTraceName(path)) {
      return InputError("it has the name of a trace and is a module, which is not run",
                        "a module has another name: " + ModuleNames());
    }
    const auto& given = run_.given();
    if (!IsModuleName(path) && std::ranges::find(given, "--platform") == given.end()) {
      return InputError("it is a module, but its name does not say so",
                        "--platform PLATFORM runs it");
    }
    if (modules_.empty()) return {};
    return InputError("--module: this is a module, which is run", "--module is for traces");
  }

  Status CheckRead() const {
    const auto& given = run_.given();
    const auto first = std::ranges::find_if(
        given, [](const std::string& option) { return !option.ends_with('='); });
    const std::string option = first != given.end() ? *first
                               : recordings_ != 1   ? "--recordings"
                                                    : "";
    if (option.empty()) return {};
    return InputError(option + ": this is not a module, and nothing is run",
                      "the option is for modules");
  }

  int RunOne(const std::string& path, const std::vector<profiler::AttributedModule>& modules,
             const Context& context, Jobs& jobs) {
    const auto start = std::chrono::steady_clock::now();
    Result<FileView> file = FileView::Open(path, context.limits);
    if (!file) return Fail(path, file.error(), context);
    const bool is_trace = profiler::IsTrace(file->bytes());
    const dump::FileKind kind = dump::Sniff(file->bytes());
    if (!is_trace && (dump::IsModuleKind(kind) || dump::IsProgramKind(kind))) {
      if (Status asked = CheckRun(path); !asked)
        return Fail(path, InFile(asked.error(), path), context);
      return Record(path, context);
    }
    if (Status asked = CheckRead(); !asked) return Fail(path, InFile(asked.error(), path), context);
    Result<ProfileReport> report = ReadProfileReport(*file, modules, context.limits, jobs);
    if (!report) return Fail(path, report.error(), context);
    if (!out_.empty()) return WriteOne(*report, context);
    if (Status status = AddStatistics(*report, jobs); !status)
      return Fail(path, status.error(), context);
    report->top = static_cast<size_t>(std::max<int64_t>(top_, 0));
    report->what_if = profiler::WhatIfOn(*report->attribution, what_if_);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report->time_ms = time.count();
    context.json ? WriteOut(ProfileJson(*report)) : PrintOut(ProfileText(*report));
    return kGood;
  }

  // "out.hloprof" as the file of recording 2 of several: "out.2.hloprof".
  std::string FileOf(const std::string& out, int64_t recording) const {
    if (recordings_ == 1 || out.empty()) return out;
    const size_t name = out.find_last_of('/') + 1;
    const size_t dot = std::min(out.find('.', name + 1), out.size());
    return fmt::format("{}.{}{}", out.substr(0, dot), recording, out.substr(dot));
  }

  // Runs a module and reports what was recorded of it; with a reference, what differs.
  int Record(const std::string& path, const Context& context) {
    std::string out = out_;
    if (!out.empty()) {
      Result<std::string> file = ProfilePath(out, std::span(&path, 1));
      if (!file) return Fail(path, file.error(), context);
      out = *std::move(file);
    }
    const CancelOnSignals cancel;
    std::vector<ProfileReport> reports;
    int status = kGood;
    for (int64_t recording = 1; recording <= recordings_; ++recording) {
      Result<Recorded> one = RecordOnce(path, FileOf(out, recording), context, cancel.token());
      if (!one) return Fail(path, InFile(one.error(), path), context);
      // Of several the last is reported in full.
      if (context.json) {
        WriteOut(ProfileJson(one->report));
      } else {
        PrintOut(recording == recordings_
                     ? ProfileText(one->report)
                     : RecordedText(one->report, recording) + one->report.recorded->run_text);
      }
      if (const auto error = RunReportError(path, one->run)) PrintError(*error);
      status = Worse(status, ExitStatusOf(one->run));
      reports.push_back(std::move(one->report));
    }
    if (run_.request().reference.name.empty()) return status;
    return Worse(status, CompareSides(path, reports, context));
  }

  struct Recorded {
    debug::RunReport run;
    ProfileReport report;
  };
  Result<Recorded> RecordOnce(const std::string& path, const std::string& out,
                              const Context& context, const std::stop_token& stop) {
    const auto start = std::chrono::steady_clock::now();
    debug::RunSpec& request = run_.request();
    request.execution.workers =
        StartWorkers(std::array{request.test.name, request.reference.name}, context.limits);
    debug::RunRecorder recorder;
    debug::RunSinks sinks = run_.sinks();
    sinks.recorder = &recorder;
    sinks.measure_recording = true;
    if (!context.json) {
      sinks.on_instruction = [](const debug::InstructionReport& instruction) {
        PrintOut(InstructionReportText(instruction));  // in one piece
      };
    }
    std::optional<debug::CommandSpan> span(std::in_place, &recorder, "read " + path);
    Result<LoadedRun> loaded = run_.Load(path, context.limits, stop);
    span.reset();
    if (!loaded) return std::unexpected(loaded.error());
    debug::RunReport run = debug::RunModule(loaded->module, loaded->request, sinks, stop);
    if (run.timing.run_us.empty() && run.error) return std::unexpected(*run.error);
    std::vector<profiler::Loss> lost;
    HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report,
                              FinishProfile(recorder, out, true, lost, context));
    report.path = path;
    report.recorded = {run.module,
                       run.platform,
                       run.reference,
                       out,
                       std::move(lost),
                       run.timing.run_us,
                       run.timing.unrecorded_us,
                       !run.recording_changed_bits,
                       run.error};
    if (FoundSomething(run)) {
      report.recorded->run_json = RunReportJson(path, run);
      report.recorded->differs = ExitStatusOf(run) == kDiffers;
    }
    // Each run says its own again.
    for (const std::string& warning : run.warnings) {
      if (std::ranges::find(report.warnings, warning) == report.warnings.end())
        report.warnings.push_back(warning);
    }
    run.warnings.clear();
    if (!report.recorded->run_json.empty()) report.recorded->run_text = RunReportText(path, run);
    report.top = static_cast<size_t>(std::max<int64_t>(top_, 0));
    report.what_if = profiler::WhatIfOn(*report.attribution, what_if_);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report.time_ms = time.count();
    return Recorded{std::move(run), std::move(report)};
  }

  // The platform against the reference, where both report times of instructions.
  int CompareSides(const std::string& path, std::span<const ProfileReport> reports,
                   const Context& context) {
    const debug::RunSpec& request = run_.request();
    const auto name = [&](const std::string& platform, const std::string& python) {
      return fmt::format("{} on {}{}", path, platform, python.empty() ? "" : " of " + python);
    };
    const bool other_python = !request.reference.python.empty() && !run_.pythons().empty();
    Jobs jobs(context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus());
    const auto compared = CompareWithReference(
        reports, name(request.test.name, other_python ? run_.pythons().front() : ""),
        name(request.reference.name, request.reference.python), jobs);
    if (!compared) return Fail(path, compared.error(), context);
    const auto top = static_cast<size_t>(std::max<int64_t>(top_, 0));
    context.json ? WriteOut(ProfileComparisonJson(*compared))
                 : PrintOut("\n" + ProfileComparisonText(*compared, top));
    return kGood;
  }

  int WriteOne(const ProfileReport& report, const Context& context) const {
    auto lost = profiler::WriteProfile({*report.profile, report.attribution.get(), out_});
    if (!lost) return Fail(report.path, lost.error(), context);
    context.json ? WriteOut(ConversionJson(report, out_, *lost))
                 : PrintOut(ConversionText(report, out_, *lost));
    return kGood;
  }

  RunOptionSet run_;
  std::vector<std::string> traces_, modules_, devices_;
  std::vector<profiler::DeviceFacts> what_if_;  // of devices_
  std::string out_;
  int64_t top_ = 20, recordings_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace hloscope::app
