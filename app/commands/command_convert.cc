// `hloscope convert`: HLO text, protos and text protos into one another.
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <span>

#include "app/any_module.h"
#include "app/command.h"
#include "app/error_status.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/shared_options.h"
#include "app/written_files.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/base/jobs.h"
#include "core/base/json.h"
#include "core/hlo/analysis/summary.h"

namespace hloscope::app {
namespace {

namespace fs = std::filesystem;

class ConvertCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<std::string> names;
    for (const ModuleFormRow& row : kModuleForms) names.emplace_back(row.name);
    return {
        {.name = "files",
         .target = &files_,
         .help = "IN and OUT (- is standard output; packed where it ends in .gz); with --out-dir, "
                 "any number of "
                 "files and folders",
         .value = "FILE",
         .required = true},
        {.name = "--to",
         .target = &to_,
         .help = "the form to write; by default that of OUT's extension",
         .value = "FORM",
         .choices = names},
        {.name = "--out-dir",
         .target = &out_dir_,
         .help = "write STEM.hlo, STEM.hlo.pb, … into this folder; needs --to",
         .value = "DIR",
         .needs = {"--to"}},
        RowOption("--shape", &shapes_),
        PythonOption(&python_),
    };
  }

  int Run(const Context& context) override {
    auto variables = ReadShapes(shapes_);
    if (!variables) return FailEach("file", files_, variables.error(), context);
    arguments_.variables = *std::move(variables);
    // Before any thread is started.
    if (!python_.empty()) setenv("HLOSCOPE_PYTHON", python_.c_str(), 1);
    if (out_dir_.empty()) return RunPair(context);
    const ExpandedPaths expanded = ExpandDirectories(files_, context.limits, StageFilesIn);
    const std::vector<std::string>& files = expanded.files;
    std::error_code error;
    fs::create_directories(out_dir_, error);
    if (error) {
      const auto failed = EnvironmentError(out_dir_ + ": " + error.message());
      return FailEach("file", files_, failed.error(), context);
    }
    int threads = context.jobs > 0 ? static_cast<int>(context.jobs) : AvailableCpus();
    std::vector<int> statuses(files.size(), kGood);
    OrderedOutput output;
    Progress progress("convert", files.size());
    const ModuleFormRow& row = *std::ranges::find(kModuleForms, to_, &ModuleFormRow::name);
    std::vector<std::string> outs;
    for (const std::string& in : files)
      outs.push_back((fs::path(out_dir_) / (ModuleStem(in) + std::string(row.extension))).string());
    WrittenFiles written({files});
    std::vector<Status> writable;
    for (size_t i = 0; i < files.size(); ++i) writable.push_back(written.Add({files[i], outs[i]}));
    Status done = ParallelFor(static_cast<int64_t>(files.size()), threads, [&](int64_t i) {
      const std::string& in = files[static_cast<size_t>(i)];
      const std::string& out = outs[static_cast<size_t>(i)];
      const Status& may = writable[static_cast<size_t>(i)];
      const Outcome outcome = may ? ConvertOne(in, out, row.target, context) : Failed(may.error());
      statuses[static_cast<size_t>(i)] = outcome.status;
      output.Put(static_cast<size_t>(i), context.json ? Json(in, out, outcome) : "");
      progress.Step();
    });
    int status = done ? kGood : Fail(InputKeys(), done.error(), context);
    for (int s : statuses) status = Worse(status, s);
    return Worse(status, expanded.ReportFailed("file", context));
  }

 private:
  int RunPair(const Context& context) {
    if (files_.size() == 1 && !to_.empty()) files_.push_back("-");
    if (files_.size() != 2) {
      const auto wrong = InputError(
          fmt::format("hloscope convert: expected IN OUT, got {}", Counted(files_.size(), "file")),
          "`hloscope help convert` explains the options");
      return FailEach("file", files_, wrong.error(), context);
    }
    ModuleForm target = ModuleForm::kHlo;
    if (to_.empty()) {
      Result<ModuleForm> by_name = ModuleFormFromPath(files_[1]);
      if (!by_name) return Fail(files_[0], by_name.error(), context);
      target = *by_name;
    } else {
      target = std::ranges::find(kModuleForms, to_, &ModuleFormRow::name)->target;
    }
    const FileToWrite written[] = {{"OUT", files_[1]}};
    const Status may = CheckFilesToWrite(written, {std::span(files_).first(1)});
    if (!may) return Fail(files_[0], may.error(), context);
    const Outcome outcome = ConvertOne(files_[0], files_[1], target, context);
    // The module itself is what goes to standard output.
    if (context.json && files_[1] != "-") WriteOut(Json(files_[0], files_[1], outcome));
    return outcome.status;
  }

  // What became of one file.
  struct Outcome {
    int status = kGood;
    std::vector<std::string> warnings;
    std::string error;
    std::string_view error_kind = {};
  };

  Outcome ConvertOne(const std::string& in, const std::string& out, ModuleForm target,
                     const Context& context) {
    Result<dump::LoadedModule> loaded = LoadAnyModule(in, context.limits, "", {}, arguments_);
    if (!loaded) return Failed(loaded.error());
    if (loaded->module == nullptr) {
      std::lock_guard lock(mutex_);
      PrintReadErrors(*loaded);
      return {kBadInput, {}, ProblemLines(*loaded, loaded->diagnostics)};
    }
    Outcome outcome;
    if (target == ModuleForm::kProto || target == ModuleForm::kTextProto) {
      for (const std::string& name : LostInProto(*loaded->module)) {
        outcome.warnings.push_back(
            fmt::format("attribute {} has no field in HLO protos and is dropped", name));
      }
    }
    for (std::string& lost : LostInText(*loaded->module, target)) {
      outcome.warnings.push_back(std::move(lost) + " (--to hlo keeps everything)");
    }
    if (const size_t elided = hlo::ElidedConstants(*loaded->module).size()) {
      const bool is_text = target != ModuleForm::kProto && target != ModuleForm::kTextProto;
      outcome.warnings.push_back(
          fmt::format("{}: the values are not in this file, so {}",
                      Counted(elided, "constant is elided", "constants are elided"),
                      is_text ? "the text has `{...}`, too" : "the proto has none either"));
    }
    if (!outcome.warnings.empty()) {
      std::lock_guard lock(mutex_);
      for (const std::string& warning : outcome.warnings)
        PrintError(FormatText("{}: warning: {}", in, warning));
    }
    std::string bytes = RenderModule(loaded->proto, loaded->module, target);
    if (out == "-") {
      WriteOut(bytes);
      return outcome;
    }
    Status written = WriteModuleFile(out, bytes);
    return written ? outcome : Failed(written.error());
  }

  Outcome Failed(const Error& error) {
    std::lock_guard lock(mutex_);
    PrintError(error);
    return {ExitStatusOf(error), {}, error.ToString(), ErrorKindOf(error.error_class)};
  }

  static std::string Json(const std::string& in, const std::string& out, const Outcome& outcome) {
    constexpr std::string_view kNames[] = {"ok", "differs", "error", "unsupported", "died"};
    std::string text;
    JsonWriter json(text);
    json.BeginObject().Field("file", in).Field("output", out);
    json.Field("status", kNames[outcome.status]);
    WriteErrorKind(json, outcome.error_kind);
    json.Key("warnings").BeginArray();
    for (const std::string& warning : outcome.warnings) json.Value(warning);
    json.EndArray().Key("error");
    outcome.error.empty() ? json.Null() : json.Value(outcome.error);
    json.EndObject();
    return text + "\n";
  }

  std::vector<std::string> files_;
  std::string to_, out_dir_, python_;
  std::vector<std::string> shapes_;
  replay::MlirArguments arguments_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Command> MakeConvertCommand() { return std::make_unique<ConvertCommand>(); }

}  // namespace hloscope::app
