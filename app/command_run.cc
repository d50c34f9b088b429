// `hloscope run`: replay modules.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "app/command.h"
#include "app/inputs.h"
#include "app/output.h"
#include "app/run_report.h"
#include "core/dump/directory.h"
#include "core/hlo/value_text.h"
#include "core/hlo/verifier.h"

namespace hloscope::app {
namespace {

using debug::RunReport;
using debug::RunRequest;
using debug::RunStatus;

class RunCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "modules",
         .target = &modules_,
         .help =
             "module files; a folder means its before-optimization modules; - is standard input",
         .value = "MODULE",
         .choices = {},
         .required = true},
        {.name = "--platform",
         .target = &request_.platform,
         .help = "what runs it",
         .value = "NAME",
         .choices = {}},
        {.name = "--reference_platform",
         .target = &request_.reference_platform,
         .help = "what it is compared with",
         .value = "NAME",
         .choices = {}},
        {.name = "--inputs",
         .target = &request_.inputs,
         .help = "values of the parameters: .npz, .npy in order, or a folder with input_N.npy",
         .value = "FILE",
         .choices = {}},
        {.name = "--expect",
         .target = &request_.expect,
         .help = "expected results: .npz, .npy in order, or a folder with output_N.npy",
         .value = "FILE",
         .choices = {}},
        {.name = "--save_inputs",
         .target = &request_.save_inputs,
         .help = "write the inputs it ran on",
         .value = "F.npz",
         .choices = {}},
        {.name = "--outputs",
         .target = &request_.outputs,
         .help = "write the results",
         .value = "DIR|F.npz",
         .choices = {}},
        {.name = "--seed",
         .target = &seed_,
         .help = "of made-up inputs",
         .value = "N",
         .choices = {}},
        {.name = "--abs_error_bound",
         .target = &request_.bounds.absolute,
         .help = "an element differs only beyond both bounds; default by element type",
         .value = "X",
         .choices = {}},
        {.name = "--rel_error_bound",
         .target = &request_.bounds.relative,
         .help = "see --abs_error_bound",
         .value = "X",
         .choices = {}},
        {.name = "--iterations",
         .target = &request_.iterations,
         .help = "how often to run",
         .value = "N",
         .choices = {}},
        {.name = "--input_format",
         .target = &input_format_,
         .help = "hlo, pb or pbtxt; by content where not given",
         .value = "FORM",
         .choices = {}},
        {.name = "--fill_elided",
         .target = &fill_elided_,
         .help = "make up constants whose values the file does not hold, from this seed",
         .value = "SEED",
         .choices = {}},
        {.name = "--denormals",
         .target = &denormals_,
         .help = "flush: denormal inputs and results count as zero, as on XLA:CPU",
         .value = "HOW",
         .choices = {"keep", "flush"}},
        {.name = "--random_init_input_literals",
         .target = &request_.random_inputs,
         .help = "made-up inputs are random (=false: zeros)",
         .value = "",
         .choices = {}},
        {.name = "--print_literals",
         .target = &print_literals_,
         .help = "print inputs and results",
         .value = "",
         .choices = {}},
    };
  }

  int Run(const Context& context) override {
    Result<dump::InputFormat> format = dump::InputFormatFromName(input_format_);
    if (!format) return Fail(format.error());
    Result<std::vector<std::string>> files = BeforeOptimization(context.limits);
    if (!files) return Fail(files.error());
    request_.seed = static_cast<uint64_t>(seed_);
    request_.flush_denormals = denormals_ == "flush";
    if (fill_elided_) request_.fill_elided = static_cast<uint64_t>(*fill_elided_);
    request_.limits = context.limits;
    int status = kGood;
    Progress progress("run", files->size());
    for (const std::string& file : *files) {
      RunReport report = Replay(file, *format, context);
      context.json ? WriteOut(RunReportJson(file, report)) : PrintOut(RunReportText(file, report));
      if (print_literals_ && !context.json) PrintLiterals(report);
      status = Worse(status, app::ExitStatusOf(report));
      progress.Step();
    }
    return status;
  }

 private:
  static int Fail(const Error& error) {
    PrintError(error);
    return ExitStatusOf(error);
  }

  // Folders replaced by the modules in them as they were before optimization.
  Result<std::vector<std::string>> BeforeOptimization(const Limits& limits) const {
    std::vector<std::string> files;
    for (const std::string& path : modules_) {
      std::error_code error;
      if (!std::filesystem::is_directory(path, error)) {
        files.push_back(path);
        continue;
      }
      HLOSCOPE_ASSIGN_OR_RETURN(dump::Dump found, dump::ScanDump(path, limits));
      size_t before = files.size();
      for (const dump::DumpModule& module : found.modules) {
        for (const dump::Stage& stage : module.stages) {
          const dump::DumpFile* file = stage.Preferred();
          if (dump::StageRank(stage.name) == 0 && file != nullptr) files.push_back(file->path);
        }
      }
      if (files.size() == before) {
        return InputError(path + ": no before-optimization module in this folder",
                          "`hloscope info` lists what is there");
      }
    }
    return files;
  }

  RunReport Refuse(Error error) const {
    RunReport report;
    report.platform = request_.platform;
    report.reference = request_.reference_platform;
    report.seed = request_.seed;
    report.status =
        error.error_class == ErrorClass::kUnsupported ? RunStatus::kUnsupported : RunStatus::kError;
    report.error = std::move(error);
    return report;
  }

  RunReport Replay(const std::string& file, dump::InputFormat format,
                   const Context& context) const {
    auto start = std::chrono::steady_clock::now();
    Result<dump::LoadedModule> loaded = dump::LoadSoundModule(file, context.limits, format);
    if (!loaded) return Refuse(loaded.error());
    for (const hlo::Diagnostic& d : hlo::Verify(*loaded->module, {false, context.limits})) {
      if (d.severity != hlo::Severity::kError) continue;
      return Refuse({ErrorClass::kInput, d.message, dump::PlaceOf(*loaded, d), d.hint});
    }
    double load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    RunRequest request = request_;
    if (!loaded->proto.arguments.empty()) request.arguments = loaded->proto.arguments.front();
    RunReport report = debug::RunModule(loaded->module, request);
    report.timing.load_ms += load_ms;
    return report;
  }

  static void PrintLiterals(const RunReport& report) {
    std::string out;
    auto add = [&](std::string_view name, size_t k, const hlo::Literal& value) {
      out += fmt::format("{}{} {} ", name, k, hlo::ToString(value.shape(), false));
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
  RunRequest request_;
  int64_t seed_ = 0;
  std::optional<int64_t> fill_elided_;
  std::string input_format_, denormals_ = "keep";
  bool print_literals_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace hloscope::app
