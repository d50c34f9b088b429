// `hloscope bundle create`.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/cancel.h"
#include "app/commands/bundle.h"
#include "app/dump_place.h"
#include "app/module_form.h"
#include "app/output.h"
#include "app/reports/bundle_report.h"
#include "app/reports/profile_comparison_report.h"
#include "app/reports/profile_report.h"
#include "app/reports/run_report.h"
#include "app/version.h"
#include "app/workers.h"
#include "core/base/child_process.h"
#include "core/debug/bundle/create.h"
#include "core/dump/dump_model.h"
#include "core/replay/workers/worker_environment.h"

namespace hloscope::app {
namespace {

using Json = nlohmann::json;

// The module to run, and what its dump says about it.
struct BundleInput {
  std::string module, stage, framework, target, stablehlo, ptx, debug_options;
  std::string verdict;  // the line of `diverge`, where the input was one
};

std::string TextOf(const dump::DumpModel& model, int32_t file) {
  if (file < 0) return "";
  const dump::FileEntry& entry = model.files()[static_cast<size_t>(file)];
  if (!dump::IsText(entry.kind)) return "";
  const auto view = model.OpenFile(file);
  return view ? std::string(view->bytes()) : "";
}

// What the dump knows of the module at that stage.
void TakeFromDump(const dump::DumpModel& model, int32_t module, int32_t stage, BundleInput& input) {
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  input.framework = entry.framework == "unknown" ? "" : entry.framework;
  input.target = entry.target;
  for (const int32_t file : entry.files) {
    const dump::FileEntry& one = model.files()[static_cast<size_t>(file)];
    if (one.role == dump::FileRole::kPtx) input.ptx += TextOf(model, file);
  }
  if (stage >= 0) input.stage = entry.stages[static_cast<size_t>(stage)].name;
  input.debug_options = TextOf(model, model.FindFile(module, dump::FileRole::kDebugOptions));
  for (const dump::FileRole role : {dump::FileRole::kPjrtModule, dump::FileRole::kJaxIr}) {
    const int32_t file = model.FindFile(module, role);
    if (file < 0 || !input.stablehlo.empty()) continue;
    const dump::FileKind kind = model.files()[static_cast<size_t>(file)].kind;
    if (kind == dump::FileKind::kStableHloText) input.stablehlo = TextOf(model, file);
  }
}

// The largest module of a dump, as it was before optimizations.
Result<BundleInput> InputOfDump(const std::string& folder, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(folder, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(const int32_t module, FindModule(*model, ""));
  const int32_t file = model->ModuleFile(module, 0);
  if (file < 0) return InputError(folder + ": its module has no file that can be read");
  BundleInput input;
  input.module = model->FullPath(file);
  TakeFromDump(*model, module, 0, input);
  return input;
}

// A module file; where its name is one of a dump's, what the dump beside it says.
BundleInput InputOfModule(const std::string& path, const Limits& limits) {
  BundleInput input;
  input.module = path;
  const std::filesystem::path file(path);
  const std::string name = file.filename().string();
  if (name.find("module_") == std::string::npos) return input;
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  const auto model = dump::DumpModel::Open(folder, limits);
  if (!model) return input;
  for (size_t k = 0; k < (*model)->files().size(); ++k) {
    const dump::FileEntry& entry = (*model)->files()[k];
    if (entry.path == name && entry.module >= 0) {
      TakeFromDump(**model, entry.module, entry.stage, input);
    }
  }
  return input;
}

std::string Field(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The module, platforms and seed of a verdict; what was named on the command line wins.
Result<BundleInput> InputOfVerdict(const std::string& path, std::string_view text,
                                   debug::RunRequest& request, const Limits& limits) {
  const Json json = Json::parse(text, nullptr, false);
  const std::string module = json.is_object() ? Field(json, "module") : "";
  if (module.empty()) {
    return InputError(path + ": no line of `diverge --json`: it names no module");
  }
  if (request.platform.empty()) request.platform = Field(json, "platform");
  if (request.reference_platform.empty()) {
    request.reference_platform = Field(json, "reference");
  }
  const auto seed = json.find("seed");
  if (request.seed == 0 && seed != json.end() && seed->is_number_unsigned()) {
    request.seed = seed->get<uint64_t>();
  }
  std::error_code error;
  BundleInput input;
  if (std::filesystem::is_directory(module, error)) {
    HLOSCOPE_ASSIGN_OR_RETURN(input, InputOfDump(module, limits));
  } else {
    input = InputOfModule(module, limits);
  }
  input.verdict = text;
  return input;
}

Result<BundleInput> FindInput(const std::string& given, debug::RunRequest& request,
                              const Limits& limits) {
  std::error_code error;
  if (std::filesystem::is_directory(given, error)) return InputOfDump(given, limits);
  if (given.ends_with(".json")) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(given, limits));
    return InputOfVerdict(given, file.bytes(), request, limits);
  }
  return InputOfModule(given, limits);
}

// All that a process prints until it ends or `stop` asks it to.
std::string OutputOf(ChildProcess& child, const std::stop_token& stop) {
  std::string out;
  std::array<char, 1 << 16> block;
  constexpr int kLook = 100;  // milliseconds
  while (true) {
    if (stop.stop_requested()) child.Kill();
    pollfd waiting{child.output(), POLLIN, 0};
    if (poll(&waiting, 1, kLook) <= 0) continue;
    const ssize_t n = read(child.output(), block.data(), block.size());
    if (n <= 0) return out;
    out.append(block.data(), static_cast<size_t>(n));
  }
}

// Status and verdict of `bundle check` in a process of its own.
Result<std::pair<std::string, std::string>> ReplayInCleanProcess(const std::string& path,
                                                                 const debug::RunRequest& request,
                                                                 const std::stop_token& stop) {
  ChildOptions options{.program = kThisProgram,
                       .arguments = {"hloscope", "bundle", "check", path, "--json"},
                       .environment = replay::CleanEnvironment({}),
                       .descriptors = {}};
  // The bundle does not say where a plugin's file is.
  for (const auto& [option, platform] :
       {std::pair("--platform", &request.platform),
        std::pair("--reference_platform", &request.reference_platform)}) {
    if (!platform->starts_with(replay::kPluginFilePrefix)) continue;
    options.arguments.insert(options.arguments.end(), {option, *platform});
  }
  if (!request.reference_python.empty()) {
    options.arguments.insert(options.arguments.end(),
                             {"--reference_platform", request.reference_platform,
                              "--reference_python", request.reference_python});
  }
  HLOSCOPE_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Spawn(options));
  const std::string output = OutputOf(child, stop);
  constexpr std::chrono::seconds kToEnd(10);
  const auto exit = child.Wait(kToEnd);
  const size_t line = output.rfind("{\"file\"");
  const Json json =
      line == std::string::npos
          ? Json(Json::value_t::discarded)
          : Json::parse(output.substr(line, output.find('\n', line) - line), nullptr, false);
  if (!json.is_object()) {
    return InternalError("the replay gave no verdict: it " +
                         (exit ? exit->ToString() : std::string("did not end")));
  }
  return std::pair{Field(json, "status"), Field(json, "verdict")};
}

// What a trace says of the module.
Result<ProfileReport> ReadTrace(const std::string& path, const std::string& module,
                                const Limits& limits) {
  Jobs jobs(AvailableCpus());
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  std::vector<profiler::AttributedModule> modules;
  if (auto given = LoadAttributedModules({module}, limits); given) modules = *std::move(given);
  HLOSCOPE_ASSIGN_OR_RETURN(ProfileReport report, ReadProfileReport(file, modules, limits, jobs));
  HLOSCOPE_TRY(AddNames(report, jobs));
  return report;
}

class BundleMaker {
 public:
  BundleMaker(const BundleOptions& options, RunOptionSet& run, const Context& context)
      : options_(options), run_(run), context_(context) {}

  Result<debug::MadeBundle> Make(const std::string& given, std::string& out) {
    debug::RunRequest& request = run_.request();
    HLOSCOPE_ASSIGN_OR_RETURN(BundleInput input, FindInput(given, request, context_.limits));
    if (request.platform.empty()) request.platform = replay::ReferencePlatform().name;
    if (out.empty()) out = ModuleStem(input.module) + ".hlob";
    std::error_code error;
    for (const std::string& path : {given, input.module}) {
      if (std::filesystem::equivalent(out, path, error)) {
        return InputError(out + ": that is the input", "name another file with -o");
      }
    }
    const CancelOnSignals cancel;
    request.workers =
        StartWorkers(std::array{request.platform, request.reference_platform}, context_.limits);
    HLOSCOPE_ASSIGN_OR_RETURN(LoadedRun loaded,
                              run_.Load(input.module, context_.limits, cancel.token()));
    debug::BundleSource source;
    source.module = loaded.module;
    source.as_proto = loaded.loaded.kind == dump::FileKind::kHloProto;
    source.request = std::move(loaded.request);
    source.file = input.module;
    source.out_name = std::filesystem::path(out).filename().string();
    const bool mlir = loaded.loaded.kind == dump::FileKind::kStableHloText;
    source.stablehlo = mlir ? std::string(loaded.loaded.file.bytes()) : input.stablehlo;
    source.stage = input.stage;
    source.framework = input.framework;
    source.target = input.target;
    source.ptx = input.ptx;
    source.debug_options = input.debug_options;
    source.verdict_json = input.verdict;
    HLOSCOPE_TRY(AddGiven(source, input.module));
    source.run_json = [&](const debug::RunReport& report) {
      return RunReportJson(input.module, report);
    };
    source.replay = [&](const std::string& path) {
      return ReplayInCleanProcess(path, run_.request(), cancel.token());
    };
    return debug::CreateBundle(source, cancel.token());
  }

 private:
  // What files and texts of the command line add.
  Status AddGiven(debug::BundleSource& source, const std::string& module) {
    const std::string version = VersionText();
    source.tool = version.substr(0, version.find('\n'));
    source.note = options_.note;
    source.values = debug::ValuePolicyFromText(options_.values).value_or(source.values);
    source.source = options_.no_source ? debug::SourceLines::kDropped : debug::SourceLines::kKept;
    if (!options_.verdict.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(const FileView file,
                                FileView::Open(options_.verdict, context_.limits));
      source.verdict_json = file.bytes();
    }
    if (!options_.reduced.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(const auto reduced,
                                dump::LoadSoundModule(options_.reduced, context_.limits));
      source.reduced = reduced.module;
    }
    if (options_.profiles.size() > 2) return InputError("--profile: one trace, or two to compare");
    if (options_.profiles.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport first,
                              ReadTrace(options_.profiles[0], module, context_.limits));
    source.profile_json = ProfileJson(first);
    if (options_.profiles.size() < 2) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(const ProfileReport second,
                              ReadTrace(options_.profiles[1], module, context_.limits));
    source.profile_comparison_json = ProfileComparisonJson(
        first, second, profiler::CompareProfiles(*first.attribution, *second.attribution));
    return {};
  }

  const BundleOptions& options_;
  RunOptionSet& run_;
  const Context& context_;
};

}  // namespace

int BundleCreate(const std::string& input, const BundleOptions& options, RunOptionSet& run,
                 const Context& context) {
  std::string out = options.out;
  const auto fail = [&](const Error& error) {
    if (context.json) {
      std::string line;
      JsonWriter(line)
          .BeginObject()
          .Field("file", out.empty() ? input : out)
          .Field("error", error.ToString())
          .EndObject();
      WriteOut(line + "\n");
    }
    PrintError(error);
    return ExitStatusOf(error);
  };
  const Result<debug::MadeBundle> made = BundleMaker(options, run, context).Make(input, out);
  if (!made) return fail(made.error());
  if (Status written = WriteFileAtomically(out, made->bytes); !written) {
    return fail(written.error());
  }
  context.json ? WriteOut(BundleMadeJson(out, *made)) : PrintOut(BundleMadeText(out, *made));
  return kGood;
}

}  // namespace hloscope::app
