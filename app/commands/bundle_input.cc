// Finding what a bundle is made of.
#include "app/commands/bundle_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/dump_place.h"
#include "core/base/file.h"
#include "core/debug/bundle/untrusted_request.h"
#include "core/debug/explain/diverge/read_verdict.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/run_record.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

std::string TextOf(const dump::DumpModel& model, int32_t file) {
  if (file < 0) return "";
  const dump::FileEntry& entry = model.files()[static_cast<size_t>(file)];
  if (!dump::IsText(entry.kind)) return "";
  const auto view = model.OpenFile(file);
  return view ? std::string(view->bytes()) : "";
}

// The end of the last log that `record` left in the dump, of at most a mebibyte.
std::string LogOf(const dump::DumpModel& model) {
  constexpr size_t kMost = size_t{1} << 20;
  const auto name_of = [](const dump::FileEntry& file) {
    return std::filesystem::path(file.path).filename().string();
  };
  int32_t last = -1;
  std::pair<size_t, std::string> best;  // stderr-10.log comes after stderr-9.log
  for (size_t k = 0; k < model.files().size(); ++k) {
    const dump::FileEntry& file = model.files()[k];
    const std::string name = name_of(file);
    if (file.role != dump::FileRole::kRunLog || !name.starts_with("stderr")) continue;
    if (std::pair own(name.size(), name); own > best) {
      best = own;
      last = static_cast<int32_t>(k);
    }
  }
  std::string text = TextOf(model, last);
  if (text.size() > kMost) {
    const size_t line = text.find('\n', text.size() - kMost);
    text.erase(0, line == std::string::npos ? text.size() - kMost : line + 1);
  }
  return text;
}

// Whether a platform of the run takes its kernels from the dump.
bool RunsDump(const debug::RunSpec& request) {
  if (!request.load.gpu_target.empty()) return false;
  return std::ranges::any_of(std::array{request.test.name, request.reference.name},
                             [](const std::string& name) {
                               const replay::PlatformRow* row = replay::FindPlatform(name);
                               return row != nullptr && row->Has(replay::kRunsDumps);
                             });
}

// What the dump knows of the module at that stage.
void TakeFromDump(const dump::DumpModel& model, int32_t module, int32_t stage,
                  const debug::RunSpec& request, BundleInput& input) {
  const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  input.framework = entry.framework == "unknown" ? "" : entry.framework;
  const dump::RunRecords records = dump::ReadRunRecords(model);
  if (const dump::RunRecord* record = records.For(entry.folder);
      record != nullptr && record->framework == entry.framework) {
    input.framework_version = record->version;
    // JAX has its XLA in a package of its own.
    for (const auto& [package, version] : record->packages) {
      if (record->framework == "JAX" && package.starts_with("jax") && package != "jax")
        input.framework_version.append(", ").append(package).append(" ").append(version);
    }
    for (const auto& [name, version] : record->xla)
      input.xla_version.append(input.xla_version.empty() ? "" : ", ")
          .append(name)
          .append(" ")
          .append(version);
  }
  input.target = entry.target;
  for (const int32_t file : entry.files) {
    const dump::FileEntry& one = model.files()[static_cast<size_t>(file)];
    if (one.role == dump::FileRole::kPtx) input.ptx += TextOf(model, file);
  }
  if (RunsDump(request)) input.kernels = debug::ReadDumpedKernels(model, module, request.limits);
  if (stage >= 0) input.stage = entry.stages[static_cast<size_t>(stage)].name;
  input.debug_options = TextOf(model, model.FindFile(module, dump::FileRole::kDebugOptions));
  input.log = LogOf(model);
  input.stablehlo = TextOf(model, model.StableHloFile(module));
}

// The largest module of a dump, as it was before optimizations.
Result<BundleInput> InputOfDump(const std::string& folder, const debug::RunSpec& request,
                                const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(folder, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(const int32_t module, FindModule(*model, ""));
  const dump::ModuleEntry& entry = model->modules()[static_cast<size_t>(module)];
  const int32_t stage = entry.stages.empty() ? -1 : 0;
  const int32_t file = stage < 0 ? model->FindFile(module, dump::FileRole::kStableHlo)
                                 : model->ModuleFile(module, stage);
  if (file < 0) return std::unexpected(model->Module(module, -1).error());
  BundleInput input;
  input.module = model->FullPath(file);
  if (model->modules().size() > 1) {
    input.notes.push_back(fmt::format(
        "the dump has {} modules, and the bundle the largest, {}: to pack another one, name its "
        "file",
        model->modules().size(), dump::TitleOf(entry)));
  }
  TakeFromDump(*model, module, stage, request, input);
  return input;
}

// A module file; where its name is one of a dump's, what the dump beside it says.
BundleInput InputOfModule(const std::string& path, const debug::RunSpec& request,
                          const Limits& limits) {
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
      TakeFromDump(**model, entry.module, entry.stage, request, input);
    }
  }
  return input;
}

// A platform of a verdict, which is untrusted; `own` was named on the command line and wins.
Status TakePlatform(const std::string& path, std::string_view option, const std::string& recorded,
                    std::string& own) {
  if (!own.empty() || recorded.empty()) return {};
  if (!debug::MayNamePlatform(recorded)) {
    return InputError(fmt::format("{}: platform {}: a verdict may name no file", path, recorded),
                      fmt::format("name the platform by {}", option));
  }
  own = recorded;
  return {};
}

// The module, platforms and seed of a verdict; what was named on the command line wins.
Result<BundleInput> InputOfVerdict(const std::string& path, debug::RunSpec& request,
                                   const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  const auto kept = debug::ReadVerdict(file.bytes());
  if (!kept) return InputError(path + ": " + kept.error().message, kept.error().hint);
  if (kept->module.empty()) return InputError(path + ": the verdict names no module");
  HLOSCOPE_TRY(TakePlatform(path, "--platform", kept->verdict.platform, request.test.name));
  HLOSCOPE_TRY(
      TakePlatform(path, "--reference_platform", kept->verdict.reference, request.reference.name));
  if (request.inputs.seed == 0) request.inputs.seed = kept->verdict.seed;
  BundleInput input;
  if (dump::IsFolder(kept->module)) {
    HLOSCOPE_ASSIGN_OR_RETURN(input, InputOfDump(kept->module, request, limits));
  } else {
    input = InputOfModule(kept->module, request, limits);
  }
  input.verdict = file.bytes();
  if (!kept->verdict.inputs_generated && request.inputs.are_generated()) {
    input.notes.push_back(
        "the verdict was found on inputs that were given, and the run of this bundle has others, "
        "generated from the seed: --inputs names those of the verdict");
  }
  return input;
}

}  // namespace

Result<BundleInput> FindBundleInput(const std::string& given, debug::RunSpec& request,
                                    const Limits& limits) {
  if (dump::IsFolder(given)) return InputOfDump(given, request, limits);
  if (given.ends_with(".json")) return InputOfVerdict(given, request, limits);
  return InputOfModule(given, request, limits);
}

}  // namespace hloscope::app
