// `hloscope compile`: XLA or our own compiler compiles a module, and its dump is kept.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <span>

#include "app/cancel.h"
#include "app/command.h"
#include "app/commands/emit_own.h"
#include "app/fail.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/dump_report.h"
#include "app/shared_options.h"
#include "app/written_files.h"
#include "app/xla_options.h"
#include "core/backends/ahead/own_compile.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/base/counted.h"
#include "core/base/escape.h"
#include "core/base/file.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/complete_module.h"
#include "core/dump/load.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/gpu_targets.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

constexpr std::string_view kModule = "hlo";  // what both XLA and our own compiler emit

class CompileCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> specs = {
        {.name = "module",
         .target = &module_,
         .help = "module file; - is standard input",
         .value = "MODULE",
         .required = true},
        CompilerOption(),
        {.name = "--target",
         .target = &request_.target,
         .help = "device that " + replay::PlatformNames(replay::kTargets) +
                 " compiles for, which need not be present: a name, or a file with a "
                 "GpuTargetConfigProto as text; without --with a processor by its LLVM name, or "
                 "native, and of PTX such a device",
         .value = "DEVICE",
         .suggestions = replay::GpuTargetNames()},
        {.name = "--dump",
         .target = &request_.dump,
         .help = "keep a dump of the compilation in this folder",
         .value = "DIR"},
        {.name = "--passes",
         .target = &request_.passes,
         .help = "with --dump: also dump the module after every pass that changes it",
         .needs = {"--dump"}},
        {.name = "--timers",
         .target = &request_.timers,
         .help = "with --dump and --with: make XLA log how long each pass and the code generation "
                 "took, in DIR/xla.log, for `info DIR --compile-time`",
         .needs = {"--dump"}},
        {.name = "--only-passes",
         .target = &only_passes_,
         .help = "run only these HLO passes, A,B (XLA's --xla_enable_hlo_passes_only)",
         .value = "PASS",
         .commas = true},
        {.name = "--emit",
         .target = &emit_,
         .help = "write to -o: the optimised module (hlo); without --with also the plan, the "
                 "kernels as LLVM IR, assembly, PTX or machine code of a GPU (cubin, by ptxas), "
                 "plan and "
                 "kernels for a GPU in one file (plan, -o FILE.hloplan), or an object to link, "
                 "with a C "
                 "header and a CMake file",
         .value = "WHAT",
         .choices = EmitChoices()},
        {.name = "-o",
         .target = &output_,
         .help = "output file, of a module text or proto by its extension; - is standard output",
         .value = "OUT"},
        RowOption("--fill-elided", &fill_elided_),
        RowOption("--constants", &constants_),
        PythonOption(&request_.search.python),
        DeadlineOption(&deadline_, "the compilation"),
        InputFormatOption(&input_format_),
    };
    for (OptionSpec& spec : xla_options_.Specs("")) specs.push_back(std::move(spec));
    return specs;
  }

  int Run(const Context& context) override {
    const CancelOnSignals cancel;
    request_.options.limits = context.limits;
    if (const std::string meant(replay::MeantPlatform(request_.platform));
        meant != request_.platform) {
      notes_.push_back(fmt::format("platform {} is {} here", request_.platform, meant));
      request_.platform = meant;
    }
    if (!request_.platform.empty()) return Tell(Compile(context, cancel.token()), context);
    return EmitsCode() ? Tell(EmitCode(context, cancel.token()), context)
                       : Tell(CompileOwn(context, cancel.token()), context);
  }

 private:
  static std::vector<std::string> EmitChoices() {
    std::vector<std::string> choices = EmittedCode();
    choices.emplace_back(kModule);
    return choices;
  }
  bool EmitsCode() const { return !emit_.empty() && emit_ != kModule; }

  OptionSpec CompilerOption() {
    OptionSpec spec = PlatformOption("--with", &request_.platform,
                                     "the XLA that compiles; by default our own compiler");
    std::erase_if(spec.suggestions, [](const std::string& name) {
      const replay::PlatformRow* row = replay::FindPlatform(name);
      return row != nullptr && !row->Has(replay::kDumps);
    });
    return spec;
  }

  Status CheckWhatToWrite() const {
    HLOSCOPE_TRY(CheckFilesToWrite(std::vector<FileToWrite>{{"-o", output_}},
                                   {std::span(&module_, 1), std::span(&constants_, 1)}));
    if (emit_.empty() != output_.empty()) return InputError("--emit and -o need each other");
    if (request_.dump.empty() && emit_.empty()) {
      return InputError("nothing to write: give --dump DIR, or --emit hlo -o OUT");
    }
    return {};
  }

  Status SetDeadline() {
    if (deadline_ < 0) return InputError("--deadline: expected more than 0 seconds");
    if (deadline_ > 0) request_.options.limits.run_deadline_seconds = deadline_;
    return {};
  }

  Status CheckOptions() {
    HLOSCOPE_TRY(CheckWhatToWrite());
    if (EmitsCode()) {
      return InputError(fmt::format("--emit {} is for our own compiler", emit_),
                        "leave --with out; XLA's own code is in the dump of --dump DIR");
    }
    HLOSCOPE_TRY(SetDeadline());
    request_.optimized_module = !emit_.empty();
    if (fill_elided_) request_.options.load.fill_elided = static_cast<uint64_t>(*fill_elided_);
    HLOSCOPE_ASSIGN_OR_RETURN(request_.options.platform.xla_flags,
                              xla_options_.Flags(request_.options.limits));
    std::string note =
        XlaOptions::AddEnvironment(request_.platform, request_.options.platform.xla_flags);
    if (!note.empty()) notes_.push_back(std::move(note));
    if (!only_passes_.empty()) {
      request_.options.platform.xla_flags.emplace_back("xla_enable_hlo_passes_only",
                                                       Join(only_passes_, ","));
    }
    return {};
  }

  Result<replay::CompileModuleReport> Compile(const Context& context, const std::stop_token& stop) {
    HLOSCOPE_TRY(CheckOptions());
    HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<ModuleForm> form, OutputForm());
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::CompletedModule completed, Load(context));
    auto report = replay::CompileModule(completed.module, request_, stop);
    if (!report) {
      report.error().place.file = module_;
      return report;
    }
    report->warnings.insert(report->warnings.begin(), completed.notes.begin(),
                            completed.notes.end());
    report->warnings.insert(report->warnings.begin(), notes_.begin(), notes_.end());
    if (form) {
      HLOSCOPE_ASSIGN_OR_RETURN(const hlo::ProtoFile file,
                                hlo::ReadProto(std::as_bytes(std::span(report->optimized_module)),
                                               request_.options.limits));
      HLOSCOPE_TRY(WriteOptimized(file.module, *form));
    }
    return report;
  }

  // Absent where no module is written.
  Result<std::optional<ModuleForm>> OutputForm() const {
    if (output_.empty()) return std::nullopt;
    if (output_ == "-") return ModuleForm::kHlo;
    HLOSCOPE_ASSIGN_OR_RETURN(const ModuleForm form, ModuleFormFromPath(output_));
    return form;
  }

  // With the values that the dump beside it and --constants have.
  Result<dump::CompletedModule> Load(const Context& context) const {
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::InputFormat format,
                              dump::InputFormatFromName(input_format_));
    HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded,
                              dump::LoadSoundModule(module_, context.limits, format));
    for (const hlo::Diagnostic& d : hlo::Verify(*loaded.module, {false, context.limits})) {
      if (d.severity != hlo::Severity::kError) continue;
      return std::unexpected(
          Error{ErrorClass::kInput, d.message, dump::Places(loaded).Of(d), d.hint});
    }
    dump::CompletedModule completed = dump::CompleteFromDump(loaded, context.limits);
    HLOSCOPE_TRY(TakeConstants(constants_, context.limits, completed));
    return completed;
  }

  // Reports of our own compiler have no notes.
  Result<std::shared_ptr<const hlo::Module>> LoadAndNote(const Context& context) const {
    HLOSCOPE_ASSIGN_OR_RETURN(dump::CompletedModule completed, Load(context));
    for (const std::string& note : completed.notes) PrintError("warning: " + note);
    return std::move(completed.module);
  }

  Status CheckOwnOptions() const {
    HLOSCOPE_TRY(CheckWhatToWrite());
    if (!only_passes_.empty() || xla_options_.any() || fill_elided_ || request_.timers ||
        !request_.search.python.empty()) {
      return InputError(
          "--only-passes, --fill-elided, --timers, --python and XLA flags need --with, which names "
          "the XLA that compiles");
    }
    replay::pjrt::XlaFlags none;
    const std::string note = XlaOptions::AddEnvironment("", none);
    if (!note.empty()) PrintError("warning: " + note);
    if (request_.target.empty() || (EmitsCode() && (emit_ != "plan" || IsPlanFileName(output_)))) {
      return {};
    }
    return InputError(
        "--target is for code",
        "give --emit llvm, asm, ptx, cubin, object, or plan with -o FILE.hloplan, or --with, which "
        "names the XLA that compiles");
  }

  // With --dump the dump too.
  Result<EmitReport> EmitCode(const Context& context, const std::stop_token& stop) {
    HLOSCOPE_TRY(CheckOwnOptions());
    HLOSCOPE_TRY(SetDeadline());
    HLOSCOPE_ASSIGN_OR_RETURN(const auto module, LoadAndNote(context));
    EmitRequest emit{emit_, output_, request_.target, context.jobs, request_.options.limits};
    Result<EmitReport> report = EmitOwn(module, emit, stop);
    if (!report) return std::unexpected(InFile(report.error(), module_));
    if (request_.dump.empty()) return report;
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::OwnCompileReport dumped,
                              replay::OwnCompile(*module, OwnRequest(false), stop));
    report->files.push_back({request_.dump, Counted(dumped.dump_files, "file")});
    return report;
  }

  replay::OwnCompileRequest OwnRequest(bool wants_module) const {
    return {.dump = request_.dump,
            .passes = request_.passes,
            .wants_module = wants_module,
            .xla_flags = {},
            .limits = request_.options.limits};
  }

  Result<replay::OwnCompileReport> CompileOwn(const Context& context, const std::stop_token& stop) {
    HLOSCOPE_TRY(CheckOwnOptions());
    HLOSCOPE_TRY(SetDeadline());
    HLOSCOPE_ASSIGN_OR_RETURN(const std::optional<ModuleForm> form, OutputForm());
    HLOSCOPE_ASSIGN_OR_RETURN(const auto module, LoadAndNote(context));
    Result<replay::OwnCompileReport> report =
        replay::OwnCompile(*module, OwnRequest(form.has_value()), stop);
    if (!report) return std::unexpected(InFile(report.error(), module_));
    if (form) HLOSCOPE_TRY(WriteOptimized(report->module, *form));
    return report;
  }

  template <typename Report>
  int Tell(const Result<Report>& report, const Context& context) const {
    if (!report) {
      return Fail({{"module", module_}, {"platform", request_.platform}}, report.error(), context);
    }
    if (output_ == "-") return kGood;
    context.json ? WriteOut(Json(*report)) : PrintOut(Text(*report));
    return kGood;
  }

  std::string Text(const EmitReport& report) const { return EmitReportText(report, module_); }
  std::string Json(const EmitReport& report) const {
    return EmitReportJson(report, module_, emit_);
  }

  std::string Text(const replay::OwnCompileReport& report) const {
    std::string out = FormatText(
        "{}: compiled in {:.1f} ms: {} became {}, {} of them kernels\n", module_, report.compile_ms,
        Counted(report.instructions_before, "instruction"), report.instructions, report.kernels);
    if (!request_.dump.empty()) {
      out += FormatText("  {}: {}; `hloscope info {}` shows them\n", request_.dump,
                        Counted(report.dump_files, "file"), Quoted(request_.dump));
    }
    if (!output_.empty()) out += FormatText("  {}: the optimised module\n", output_);
    return out;
  }

  std::string Json(const replay::OwnCompileReport& report) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("module", module_)
        .Field("status", "ok")
        .Field("compile_ms", report.compile_ms)
        .Field("code_ms", report.code_ms)
        .Field("instructions_before", report.instructions_before)
        .Field("instructions", report.instructions)
        .Field("kernels", report.kernels)
        .Field("dump", request_.dump)
        .Field("files", report.dump_files)
        .Field("output", output_)
        .EndObject();
    return out + "\n";
  }

  Status WriteOptimized(std::shared_ptr<const hlo::Module> module, ModuleForm form) const {
    const std::string text = RenderModule({}, std::move(module), form);
    if (output_ != "-") return WriteModuleFile(output_, text);
    WriteOut(text);
    return {};
  }

  std::string Text(const replay::CompileModuleReport& report) const {
    const replay::PluginFile& plugin = report.plugin;
    const replay::PlatformRow* const row = replay::FindPlatform(request_.platform);
    const bool is_python = row != nullptr && row->Has(replay::kNeedsPython);
    std::string out = FormatText(
        "{}: compiled for {} with {}{}{} in {:.0f} ms ({} loaded in {:.0f} ms)\n", module_,
        report.device, plugin.distribution.empty() ? plugin.path : plugin.distribution,
        plugin.version.empty() ? "" : " ", plugin.version, report.compile_ms,
        is_python ? row->name : "plugin", report.load_ms);
    for (const auto& [name, bytes] : report.memory) {
      if (bytes <= 0) continue;
      // Other than the peak of the buffer assignment, which `info` prints.
      out += name == "peak" ? FormatText("  peak memory that XLA reports for the executable: {}\n",
                                         BytesText(bytes))
                            : FormatText("  {} memory: {}\n", name, BytesText(bytes));
    }
    if (!request_.dump.empty()) {
      out += FormatText("  {}: {}, {}; `hloscope info {}` shows them\n", request_.dump,
                        Counted(report.dump_files, "file"), BytesText(report.dump_bytes),
                        Quoted(request_.dump));
    }
    if (!output_.empty()) out += FormatText("  {}: the optimised module\n", output_);
    for (const std::string& warning : report.warnings) {
      out += FormatText("  warning: {}\n", warning);
    }
    return out;
  }

  std::string Json(const replay::CompileModuleReport& report) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("module", module_)
        .Field("platform", request_.platform)
        .Field("status", "ok")
        .Field("device", report.device)
        .Field("plugin", report.plugin.path)
        .Field("plugin_version", report.plugin.version)
        .Field("load_ms", report.load_ms)
        .Field("compile_ms", report.compile_ms)
        .Key("memory")
        .BeginObject();
    for (const auto& [name, bytes] : report.memory) json.Field(name, bytes);
    json.EndObject().Field("dump", request_.dump).Field("files", report.dump_files);
    json.Field("bytes", report.dump_bytes).Field("output", output_).Key("warnings").BeginArray();
    for (const std::string& warning : report.warnings) json.Value(warning);
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::string module_, emit_, output_, input_format_;
  std::vector<std::string> only_passes_, notes_;
  XlaOptions xla_options_;
  int64_t deadline_ = 0;
  std::optional<int64_t> fill_elided_;
  std::string constants_;
  replay::CompileModuleRequest request_;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace hloscope::app
