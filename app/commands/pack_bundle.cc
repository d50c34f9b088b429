#include "app/commands/pack_bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/bundle_report.h"
#include "app/reports/run_report.h"
#include "app/version.h"
#include "app/workers.h"
#include "app/written_files.h"
#include "core/base/child_process.h"
#include "core/base/escape.h"
#include "core/base/format_text.h"
#include "core/base/parse_json.h"
#include "core/base/unique_fd.h"
#include "core/debug/bundle/check.h"
#include "core/replay/workers/worker_environment.h"

namespace hloscope::app {
namespace {

using ParsedJson = nlohmann::json;

std::string Field(const ParsedJson& json, std::string_view key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The replay is bounded as we are.
void AddBounds(const debug::RunSpec& request, std::vector<std::string>& arguments) {
  const auto add = [&](std::string option, std::string value) {
    arguments.push_back(std::move(option));
    arguments.push_back(std::move(value));
  };
  const Limits usual;
  for (const LimitRow& row : LimitRows()) {
    const int64_t value = request.limits.*row.field;
    if (value != usual.*row.field) add("--limit", fmt::format("{}={}", row.name, value));
  }
  if (request.budget.seconds) add("--deadline", fmt::format("{}", *request.budget.seconds));
  if (request.budget.memory_bytes > 0) {
    add("--memory", fmt::format("{}", request.budget.memory_bytes));
  }
}

// Status and verdict of `bundle check` in a process of its own.
Result<std::pair<std::string, std::string>> ReplayInCleanProcess(const std::string& path,
                                                                 const debug::RunSpec& request,
                                                                 int further,
                                                                 const std::stop_token& stop) {
  ChildOptions options{
      .program = kThisProgram,
      .arguments = {"hloscope", "bundle", "check", path, "--json"},
      .environment = replay::CleanEnvironment(debug::TestOptions(request).environment),
      .descriptors = {}};
  // The bundle does not say where a plugin's file is.
  for (const auto& [option, platform] :
       {std::pair("--platform", &request.test.name),
        std::pair("--reference_platform", &request.reference.name)}) {
    if (!platform->starts_with(replay::kPluginFilePrefix)) continue;
    options.arguments.insert(options.arguments.end(), {option, *platform});
  }
  if (!request.reference.python.empty()) {
    options.arguments.insert(options.arguments.end(),
                             {"--reference_platform", request.reference.name, "--reference-python",
                              request.reference.python});
  }
  AddBounds(request, options.arguments);
  const auto begin = std::chrono::steady_clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  const std::string output = child.ReadAll(stop, begin + debug::LongestReplay(request, further));
  constexpr std::chrono::seconds kToEnd(10);
  const auto exit = child.Wait(kToEnd);
  if (child.passed_deadline()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return std::unexpected(
        Error{ErrorClass::kDeadlineExceeded,
              fmt::format("the replay did not end within {:.0f} s", took.count()),
              {},
              "raise --deadline; `hloscope bundle check` replays the bundle"});
  }
  const size_t line = output.rfind("{\"file\"");
  const ParsedJson json =
      line == std::string::npos
          ? ParsedJson()
          : ParseJson(output.substr(line, output.find('\n', line) - line)).value_or(nullptr);
  if (!json.is_object()) {
    return InternalError("the replay reported no verdict: it " +
                         (exit ? exit->ToString() : std::string("did not end")));
  }
  return std::pair{Field(json, "status"), Field(json, "verdict")};
}

debug::BundleSource BundleSourceOf(const BundleInput& input, LoadedRun loaded,
                                   BundleFindings findings, const PackOptions& options) {
  debug::BundleSource source;
  source.module = loaded.module;
  source.unpacked = loaded.kernels;
  source.as_proto = loaded.loaded.kind == dump::FileKind::kHloProto;
  source.request = std::move(loaded.request);
  source.report = std::move(findings.report);
  source.file = input.module;
  source.notes = input.notes;
  const bool mlir = loaded.loaded.kind == dump::FileKind::kStableHloText;
  source.stablehlo = mlir ? std::string(loaded.loaded.file.bytes()) : input.stablehlo;
  source.stage = input.stage;
  source.framework = input.framework;
  source.framework_version = input.framework_version;
  source.xla_version = input.xla_version;
  source.target = input.target;
  source.ptx = input.ptx;
  source.kernels = input.kernels;
  source.debug_options = input.debug_options;
  source.log = input.log;
  source.verdict_json = findings.verdict.empty() ? input.verdict : findings.verdict;
  source.profile_json = std::move(findings.profile);
  source.profile_comparison_json = std::move(findings.profile_comparison);
  source.other = std::move(findings.other);
  source.before_pass = std::move(findings.before_pass);
  source.after_pass = std::move(findings.after_pass);
  source.reduced = std::move(findings.reduced);
  source.reduced_arguments = std::move(findings.reduced_arguments);
  source.note = options.note;
  source.values = debug::ValuePolicyFromText(options.values).value_or(source.values);
  source.redaction = {
      .source = options.no_source ? debug::SourceLines::kDropped : debug::SourceLines::kKept,
      .text = options.text == "all" ? debug::FreeText::kAll : debug::FreeText::kNeeded};
  const std::string version = VersionText();
  source.tool = version.substr(0, version.find('\n'));
  return source;
}

// Everything but the replay.
Result<debug::BundleSource> ReadSource(const BundleInput& input, BundleFindings findings,
                                       const PackOptions& options, const RunOptionSet& run,
                                       const std::string& out, const Limits& limits,
                                       const std::stop_token& stop) {
  HLOSCOPE_TRY(CheckBundleFile("the bundle", out, {std::span(&input.module, 1)}, run.request()));
  HLOSCOPE_ASSIGN_OR_RETURN(LoadedRun loaded, run.Load(input.module, limits, stop));
  BundleInput whole = input;
  if (loaded.kernels && !whole.kernels.module) {
    HLOSCOPE_ASSIGN_OR_RETURN(BundleInput bundled,
                              FindBundleInput(loaded.kernels->module_file, loaded.request, limits));
    whole.kernels = std::move(bundled.kernels);
    whole.ptx = std::move(bundled.ptx);
  }
  debug::BundleSource source =
      BundleSourceOf(whole, std::move(loaded), std::move(findings), options);
  source.out_name = std::filesystem::path(out).filename().string();
  source.run_json = [file = input.module](const debug::RunReport& report) {
    return RunReportJson(file, report);
  };
  return source;
}

// It may hold values of the inputs: a new file is its owner's alone.
Status WriteBundle(const std::string& path, std::string_view bytes) {
  constexpr mode_t kOwnerOnly = 0600;
  const UniqueFd made(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  Status written = WriteFileAtomically(path, bytes);  // keeps the mode
  if (!written && made.valid()) unlink(path.c_str());
  return written;
}

}  // namespace

Status CheckBundleFile(std::string_view option, const std::string& out,
                       std::initializer_list<std::span<const std::string>> read,
                       const debug::RunSpec& request) {
  const debug::InputSpec& inputs = request.inputs;
  const FileToWrite bundle{option, out};
  for (const std::span<const std::string> files : read)
    HLOSCOPE_TRY(CheckFilesToWrite(std::span(&bundle, 1), {files}));
  return CheckFilesToWrite(std::span(&bundle, 1),
                           {inputs.files, inputs.infeed, std::span(&inputs.literals_file, 1),
                            std::span(&inputs.constants, 1), request.compare.expect});
}

std::vector<OptionSpec> PackOptions::Specs(std::string_view when) {
  const auto help = [&](std::string_view what) { return fmt::format("{}{}", when, what); };
  return {
      {.name = "--values",
       .target = &values,
       .help = help("how much data to include: none, shapes, statistics, all (shapes)"),
       .value = "POLICY",
       .choices = {"none", "shapes", "statistics", "all"}},
      {.name = "--note", .target = &note, .help = help("add a free-text note"), .value = "TEXT"},
      {.name = "--no-source",
       .target = &no_source,
       .help = help("leave out source files, lines and stack frames")},
      {.name = "--text",
       .target = &text,
       .help =
           help("needed: leave out text that no replay reads, as scopes of op_name, comments of "
                "PTX, the StableHLO and the log of `record`; all: include it, redacted (needed)"),
       .value = "HOW",
       .choices = {"needed", "all"}}};
}

Result<debug::MadeBundle> PackBundle(const BundleInput& input, BundleFindings findings,
                                     const PackOptions& options, RunOptionSet& run,
                                     const std::string& out, const Limits& limits,
                                     const std::stop_token& stop) {
  debug::RunSpec& request = run.request();
  if (request.execution.workers == nullptr) {
    request.execution.workers =
        StartWorkers(std::array{request.test.name, request.reference.name}, limits);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      debug::BundleSource source,
      ReadSource(input, std::move(findings), options, run, out, limits, stop));
  const int further = (source.other != nullptr ? 2 : 0) + (source.after_pass != nullptr ? 2 : 0) +
                      (source.reduced != nullptr ? 1 : 0);
  source.replay = [&, further](const std::string& path) {
    return ReplayInCleanProcess(path, request, further, stop);
  };
  HLOSCOPE_ASSIGN_OR_RETURN(debug::MadeBundle made, debug::CreateBundle(source, stop));
  HLOSCOPE_TRY(WriteBundle(out, made.bytes));
  return made;
}

Result<debug::BundlePlan> PlanPacking(const BundleInput& input, BundleFindings findings,
                                      const PackOptions& options, RunOptionSet& run,
                                      const std::string& out, const Limits& limits,
                                      const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      const debug::BundleSource source,
      ReadSource(input, std::move(findings), options, run, out, limits, stop));
  return debug::PlanBundle(source, stop);
}

std::vector<OptionSpec> BundleStep::Specs() {
  std::vector<OptionSpec> specs = {{.name = "--bundle",
                                    .target = &out_,
                                    .help = "pack the run and its findings into one file for a bug "
                                            "report, and replay it",
                                    .value = "F.hlob",
                                    .group = "Bundle"}};
  for (OptionSpec& spec : options_.Specs("--bundle: ")) specs.push_back(std::move(spec));
  return specs;
}

Status BundleStep::Check() const {
  const PackOptions usual;
  if (asked() || (options_.note.empty() && !options_.no_source && options_.values == usual.values &&
                  options_.text == usual.text))
    return {};
  return InputError("--values, --note and --no-source need --bundle F.hlob");
}

int BundleStep::Make(const std::string& given, BundleFindings findings, RunOptionSet& run,
                     const Context& context, const std::stop_token& stop, std::string& line) const {
  const auto make = [&]() -> Result<debug::MadeBundle> {
    HLOSCOPE_ASSIGN_OR_RETURN(const BundleInput input,
                              FindBundleInput(given, run.request(), context.limits));
    return PackBundle(input, std::move(findings), options_, run, out_, context.limits, stop);
  };
  const Result<debug::MadeBundle> made = make();
  if (context.json) {
    line = WithBundleJson(std::move(line), out_, made);
  } else if (made) {
    PrintOut(BundleMadeText(out_, *made));
  }
  if (made) return kGood;
  PrintError(made.error());
  return ExitStatusOf(made.error());
}

std::string ReportHint(const std::string& module, const std::string& options) {
  if (module == "-") return {};
  return FormatText("to report this: hloscope bundle create {} -o {}{}\n", Quoted(module),
                    Quoted(BundleNameOf(module)), options);
}

}  // namespace hloscope::app
