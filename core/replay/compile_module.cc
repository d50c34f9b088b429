// Compiling a module by the real XLA: plugin, target, module and dump folder put together.
#include "core/replay/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "core/hlo/proto.h"
#include "core/replay/assets.h"
#include "core/replay/cuda_files.h"
#include "core/replay/pjrt/adapt.h"
#include "core/replay/xla_compile.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTargets = "gpu-targets", kTargetEnding = ".pbtxt";

// Makes the folder, or refuses one that holds a dump; its absolute path.
Result<std::string> PrepareDump(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", folder, error.message()));
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("module_")) {
      return InputError(fmt::format("{}: holds a dump already", folder), "give a new folder");
    }
  }
  const fs::path whole = fs::canonical(folder, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", folder, error.message()));
  return whole.string();
}

void CountFiles(const std::string& folder, CompileModuleReport& report) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    ++report.dump_files;
    report.dump_bytes += static_cast<int64_t>(it->file_size(error));
  }
}

// The name that a description gives its device.
std::string DeviceName(std::string_view target) {
  constexpr std::string_view kField = "device_description_str:";
  const size_t at = target.find(kField);
  if (at == std::string_view::npos) return {};
  const size_t begin = target.find('"', at), end = target.find('"', begin + 1);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  return std::string(target.substr(begin + 1, end - begin - 1));
}

// XLA looks beside the plugin by itself; elsewhere it has to be told.
Status FindAssembler(const PluginFile& plugin, XlaCompileRequest& request) {
  const CudaToolkit toolkit = FindCudaToolkit(plugin);
  if (toolkit.ptxas.empty() || toolkit.libdevice.empty()) {
    return EnvironmentError(
        fmt::format("xla-gpu needs {} of CUDA {} to compile; not found in {}",
                    toolkit.ptxas.empty() ? "ptxas" : "libdevice.10.bc",
                    std::max(plugin.cuda_major, 12), fmt::join(toolkit.searched, ", ")),
        fmt::format("`{}` installs it", InstallCommand("xla-gpu")));
  }
  if (!toolkit.beside_plugin) {
    request.flags.emplace_back("xla_gpu_cuda_data_dir", toolkit.folder);
  }
  return {};
}

// The module in a form that XLA takes, and for how many devices.
Status PrepareModule(std::shared_ptr<const hlo::Module> module, const CompileModuleRequest& request,
                     CompileModuleReport& report, XlaCompileRequest& compile) {
  pjrt::AdaptOptions how;
  how.limits = request.limits;
  how.fill_elided = request.fill_elided;
  how.for_cpu = report.plugin.platform != "xla-gpu";
  HLOSCOPE_ASSIGN_OR_RETURN(const pjrt::Adapted adapted, pjrt::Adapt(std::move(module), how));
  compile.module = hlo::ModuleToProto(*adapted.module);
  compile.replicas = adapted.counts.replicas;
  compile.partitions = adapted.counts.partitions;
  compile.spmd_partitioning = adapted.partition;
  compile.shardy = adapted.shardy;
  report.warnings = adapted.warnings;
  return {};
}

Status PrepareDevice(const CompileModuleRequest& request, CompileModuleReport& report,
                     XlaCompileRequest& compile) {
  if (report.plugin.platform != "xla-gpu") {
    if (!request.target.empty()) {
      return InputError(fmt::format("--target {}: {} compiles for this machine", request.target,
                                    request.platform),
                        "targets go with --with xla-gpu");
    }
    report.device = "this machine";
    return {};
  }
  if (request.target.empty()) {
    return InputError("--with xla-gpu: expected a --target",
                      fmt::format("one of {}, or a file with a GpuTargetConfigProto as text",
                                  fmt::join(GpuTargetNames(), ", ")));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(compile.target, ReadGpuTarget(request.target, request.limits));
  report.device = DeviceName(compile.target);
  if (report.device.empty()) report.device = request.target;
  return FindAssembler(report.plugin, compile);
}

// A plugin that is older than a dump flag refuses it by name.
bool DropUnknownFlag(const Error& error, XlaCompileRequest& request,
                     std::vector<std::string>& warnings) {
  if (error.message.find("No such compile option") == std::string::npos) return false;
  const auto unknown = std::ranges::find_if(request.flags, [&](const auto& flag) {
    return error.message.find("'" + flag.first + "'") != std::string::npos;
  });
  if (unknown == request.flags.end()) return false;
  warnings.push_back(fmt::format("this XLA does not know --{}: left out", unknown->first));
  request.flags.erase(unknown);
  return true;
}

}  // namespace

std::vector<std::string> GpuTargetNames() {
  std::vector<std::string> names;
  const std::optional<std::string> folder = FindAsset(kTargets, "assets");
  std::error_code error;
  for (fs::directory_iterator it(folder.value_or(""), error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == kTargetEnding) names.push_back(it->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

Result<std::string> ReadGpuTarget(const std::string& name_or_file, const Limits& limits) {
  std::string path = name_or_file;
  if (std::ranges::count(GpuTargetNames(), name_or_file) != 0) {
    path = fmt::format("{}/{}{}", *FindAsset(kTargets, "assets"), name_or_file, kTargetEnding);
  } else if (std::error_code error; !fs::exists(path, error)) {
    return InputError(fmt::format("--target {}: neither a device nor a file", name_or_file),
                      fmt::format("devices: {}", fmt::join(GpuTargetNames(), ", ")));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  return std::string(file.bytes());
}

Result<CompileModuleReport> CompileModule(std::shared_ptr<const hlo::Module> module,
                                          const CompileModuleRequest& request,
                                          const std::stop_token& stop) {
  CompileModuleReport report;
  HLOSCOPE_ASSIGN_OR_RETURN(report.plugin, ResolvePlugin(request.platform, request.search));
  XlaCompileRequest compile;
  compile.plugin = report.plugin.path;
  compile.optimized_module = request.optimized_module;
  HLOSCOPE_TRY(PrepareDevice(request, report, compile));
  HLOSCOPE_TRY(PrepareModule(std::move(module), request, report, compile));
  compile.flags.insert(compile.flags.end(), request.flags.begin(), request.flags.end());
  if (!request.dump.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(compile.dump, PrepareDump(request.dump));
    const auto flags = DumpFlags(report.plugin.platform, request.passes);
    compile.flags.insert(compile.flags.end(), flags.begin(), flags.end());
  }
  const std::chrono::seconds deadline(request.limits.run_deadline_seconds);
  Result<XlaCompileAnswer> answer = CompileWithXla(compile, deadline, stop);
  while (!answer.has_value() && DropUnknownFlag(answer.error(), compile, report.warnings)) {
    answer = CompileWithXla(compile, deadline, stop);
  }
  if (!answer.has_value()) return std::unexpected(std::move(answer).error());
  report.load_ms = answer->load_ms;
  report.compile_ms = answer->compile_ms;
  report.memory = std::move(answer->memory);
  report.optimized_module = std::move(answer->optimized_module);
  report.warnings.insert(report.warnings.end(), answer->warnings.begin(), answer->warnings.end());
  if (!compile.dump.empty()) CountFiles(compile.dump, report);
  return report;
}

}  // namespace hloscope::replay
