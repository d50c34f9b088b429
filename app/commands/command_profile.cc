// `hloscope profile FILE…`: what a trace holds, and how long which instruction took; `-o` writes it
// in another format.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/command.h"
#include "app/inputs.h"
#include "app/output.h"
#include "app/reports/profile_report.h"
#include "core/base/json.h"
#include "core/dump/load.h"

namespace hloscope::app {
namespace {

class ProfileCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "traces",
         .target = &traces_,
         .help =
             "traces (" + profiler::TraceNames() + ", packed or not), or folders that hold some",
         .value = "FILE",
         .required = true},
        {.name = "--module",
         .target = &modules_,
         .help = "the modules that ran, if they are not in the trace: files or dumps",
         .value = "FILE"},
        {.name = "--out",
         .target = &out_,
         .help = "write the profile as " + profiler::WrittenNames() +
                 " instead (all but .hloprof also with .gz behind); what that cannot hold is named",
         .value = "FILE",
         .letter = "-o"},
        {.name = "--top", .target = &top_, .help = "rows of each table", .value = "N"},
    };
  }

  int Run(const Context& context) override {
    Result<std::vector<profiler::AttributedModule>> modules =
        LoadAttributedModules(modules_, context.limits);
    if (!modules) return Fail(modules.error());
    if (!out_.empty() && traces_.size() != 1)
      return Fail(InputError("one trace can be written to " + out_ + ", not several").error());
    int status = kGood;
    const int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    Jobs jobs(threads);
    for (const std::string& given : traces_) {
      std::error_code error;
      Result<std::vector<std::string>> files = std::vector<std::string>{given};
      if (std::filesystem::is_directory(given, error))
        files = profiler::TracesBelow(given, context.limits);
      if (!files) {
        status = Worse(status, Refuse(given, files.error(), context));
        continue;
      }
      if (!out_.empty() && files->size() != 1) {
        const std::unexpected<Error> several =
            InputError(given + ": holds " + std::to_string(files->size()) + " traces",
                       "name the one that is to be written");
        status = Worse(status, Refuse(given, several.error(), context));
        continue;
      }
      for (const std::string& file : *files) {
        status = Worse(status, RunOne(file, *modules, context, jobs));
      }
    }
    return status;
  }

 private:
  static int Fail(const Error& error) {
    PrintError(error);
    return ExitStatusOf(error);
  }

  static int Refuse(const std::string& path, const Error& error, const Context& context) {
    if (!context.json) return Fail(error);
    std::string out;
    JsonWriter(out)
        .BeginObject()
        .Field("file", path)
        .Field("status", error.error_class == ErrorClass::kUnsupported ? "unsupported" : "error")
        .Field("error", error.ToString())
        .EndObject();
    WriteOut(out + "\n");
    return ExitStatusOf(error);
  }

  int RunOne(const std::string& path, const std::vector<profiler::AttributedModule>& modules,
             const Context& context, Jobs& jobs) const {
    const auto start = std::chrono::steady_clock::now();
    Result<FileView> file = FileView::Open(path, context.limits);
    if (!file) return Refuse(path, file.error(), context);
    Result<ProfileReport> report = ReadProfileReport(*file, modules, context.limits, jobs);
    if (!report) return Refuse(path, report.error(), context);
    if (!out_.empty()) return WriteOne(*report, context);
    if (Status status = AddStatistics(*report, jobs); !status)
      return Refuse(path, status.error(), context);
    report->top = static_cast<size_t>(std::max<int64_t>(top_, 0));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    report->time_ms = time.count();
    context.json ? WriteOut(ProfileJson(*report)) : PrintOut(ProfileText(*report));
    return kGood;
  }

  int WriteOne(const ProfileReport& report, const Context& context) const {
    auto lost = profiler::WriteProfile({*report.profile, report.attribution.get(), out_});
    if (!lost) return Refuse(report.path, lost.error(), context);
    context.json ? WriteOut(ConversionJson(report, out_, *lost))
                 : PrintOut(ConversionText(report, out_, *lost));
    return kGood;
  }

  std::vector<std::string> traces_, modules_;
  std::string out_;
  int64_t top_ = 20;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace hloscope::app
