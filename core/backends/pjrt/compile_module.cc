// Compiling a module by the real XLA: plugin, target, module and dump folder put together.
#include "core/backends/pjrt/compile_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/backends/pjrt/adapt.h"
#include "core/backends/pjrt/api.h"
#include "core/backends/pjrt/dump_folder.h"
#include "core/backends/pjrt/jaxlib_compile.h"
#include "core/backends/pjrt/xla_compile.h"
#include "core/backends/plugins/cuda_files.h"
#include "core/base/file.h"
#include "core/base/machine_memory.h"
#include "core/hlo/literal.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/gpu_targets.h"

namespace hloscope::replay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLog = "xla.log";  // of a dump: what the plugin prints

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
        fmt::format("{} needs {} of CUDA {} to compile; not found in {}", plugin.platform(),
                    toolkit.ptxas.empty() ? "ptxas" : "libdevice.10.bc",
                    std::max(plugin.cuda_major, 12), fmt::join(toolkit.searched, ", ")),
        fmt::format("`{}` installs it", InstallCommand(plugin.devices)));
  }
  if (!toolkit.beside_plugin) {
    request.flags.emplace_back("xla_gpu_cuda_data_dir", toolkit.folder);
  }
  return {};
}

bool HasElidedConstants(const hlo::Module& module) {
  return std::ranges::any_of(module.instructions(), [&](const hlo::Instruction& instruction) {
    const auto* literal = module.Get<hlo::Literal>(instruction, hlo::AttributeKey::kConstantValue);
    return literal != nullptr && literal->elided();
  });
}

// The module in a form that XLA may take.
struct ModuleForm {
  std::shared_ptr<const hlo::Module> module;
  hlo::DeviceCounts counts;
  pjrt::Partitioning partitioning;
  std::vector<std::string> warnings;
};

// As it is, with its layouts, donations and notes, and where there is anything to adapt, adapted:
// that is for what XLA refuses or dies of.
Result<std::vector<ModuleForm>> FormsOf(const std::shared_ptr<const hlo::Module>& module,
                                        const CompileModuleRequest& request) {
  const bool elided = HasElidedConstants(*module);
  const Result<pjrt::Adapted> adapted = pjrt::Adapt(module, request.options);
  const hlo::Topology topology = hlo::TopologyOf(*module, request.options.limits.devices);
  const auto as_it_is = [&](const hlo::DeviceCounts& counts) {
    return ModuleForm{module, counts, pjrt::PartitioningOf(*module, topology), {}};
  };
  std::vector<ModuleForm> forms;
  if (!adapted.has_value()) {
    // What cannot be run may still be compiled.
    if (elided || request.as_run || adapted.error().error_class != ErrorClass::kUnsupported) {
      return std::unexpected(adapted.error());
    }
    forms.push_back(as_it_is(topology.counts));
    return forms;
  }
  if (!elided && !request.as_run) forms.push_back(as_it_is(adapted->counts));
  if (forms.empty() || !adapted->warnings.empty()) {
    forms.push_back({adapted->module, adapted->counts, adapted->partitioning, adapted->warnings});
  }
  return forms;
}

Status PrepareDevice(const CompileModuleRequest& request, CompileModuleReport& report,
                     XlaCompileRequest& compile) {
  const PlatformRow* row = PluginPlatform(report.plugin.devices);
  if (row == nullptr || !row->Has(kTargets)) {
    if (!request.target.empty()) {
      return InputError(fmt::format("--target {}: {} compiles for this machine only",
                                    request.target, request.platform),
                        "--target needs --with " + PlatformNames(kTargets));
    }
    report.device = "this machine";
    return {};
  }
  if (request.target.empty()) {
    return InputError(fmt::format("--with {} needs --target", row->name),
                      fmt::format("one of {}, or a file with a GpuTargetConfigProto as text",
                                  fmt::join(GpuTargetNames(), ", ")));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(compile.target, ReadGpuTarget(request.target, request.options.limits));
  report.device = DeviceName(compile.target);
  if (report.device.empty()) report.device = request.target;
  return FindAssembler(report.plugin, compile);
}

// A plugin that is older than a dump flag refuses it by name. What the user asked for is not left
// out.
bool DropUnknownFlag(const Error& error, const pjrt::XlaFlags& asked, XlaCompileRequest& request,
                     std::vector<std::string>& warnings) {
  if (error.message.find(pjrt::kUnknownFlag) == std::string::npos) return false;
  const auto unknown = std::ranges::find_if(request.flags, [&](const auto& flag) {
    return error.message.find("'" + flag.first + "'") != std::string::npos;
  });
  if (unknown == request.flags.end()) return false;
  if (std::ranges::find(asked, unknown->first, &pjrt::XlaFlags::value_type::first) != asked.end()) {
    return false;
  }
  warnings.push_back(fmt::format("this XLA does not know --{}: dropped", unknown->first));
  request.flags.erase(unknown);
  return true;
}

// What an attempt that failed left in the folder, which held no dump before.
void ClearDump(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> left;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("module_")) left.push_back(it->path());
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
}

// Of a file that may not be there.
std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The order of dimensions alone: tiles and memory spaces are those of another device.
hlo::Shape InOrder(hlo::Shape shape) {
  for (hlo::Shape& element : shape.mutable_elements()) element = InOrder(element);
  if (shape.has_layout()) shape.set_layout({shape.layout().minor_to_major, nullptr});
  return shape;
}

// The layouts of the entry, where one is not the default. Of a partitioned module they are not
// those of its arguments.
void TakeLayouts(const hlo::Module& module, XlaCompileRequest& compile) {
  compile.argument_layouts.clear();
  compile.result_layout.clear();
  const auto& entry = module.header().entry_layout;
  if (!entry || compile.partitions > 1) return;
  std::vector<hlo::ShapeId> shapes = entry->parameters;
  shapes.push_back(entry->result);
  bool all_default = true;
  for (const hlo::ShapeId id : shapes) {
    const hlo::Shape shape = InOrder(module[id].WithDefaultLayouts());
    all_default = all_default && shape == module[id].WithoutLayouts().WithDefaultLayouts();
    hlo::WireWriter out;
    hlo::WriteShape(out, shape);
    compile.argument_layouts.push_back(std::move(out).Take());
  }
  if (all_default) {
    compile.argument_layouts.clear();
    return;
  }
  compile.result_layout = std::move(compile.argument_layouts.back());
  compile.argument_layouts.pop_back();
}

Result<XlaCompileAnswer> CompileForm(const ModuleForm& form, XlaCompileRequest& compile,
                                     const CompileModuleRequest& request,
                                     std::vector<std::string>& warnings, const Budget& bounds) {
  compile.module = hlo::ModuleToProto(*form.module);
  compile.replicas = form.counts.replicas;
  compile.partitions = form.counts.partitions;
  compile.partitioning = form.partitioning;
  TakeLayouts(*form.module, compile);
  Result<XlaCompileAnswer> answer = CompileWithXla(compile, *bounds.deadline, bounds.stop);
  while (!answer.has_value() &&
         DropUnknownFlag(answer.error(), request.options.platform.xla_flags, compile, warnings)) {
    answer = CompileWithXla(compile, *bounds.deadline, bounds.stop);
  }
  return answer;
}

// The first form that XLA compiles; where it compiles none, its words about the first.
Result<XlaCompileAnswer> CompileForms(const std::vector<ModuleForm>& forms,
                                      XlaCompileRequest& compile,
                                      const CompileModuleRequest& request,
                                      CompileModuleReport& report, const Budget& bounds) {
  std::vector<std::string>& warnings = report.warnings;
  report.form = forms[0].module;
  Result<XlaCompileAnswer> first = CompileForm(forms[0], compile, request, warnings, bounds);
  if (first.has_value() || forms.size() == 1 || bounds.stop.stop_requested() ||
      first.error().error_class == ErrorClass::kDeadlineExceeded) {
    warnings.insert(warnings.end(), forms[0].warnings.begin(), forms[0].warnings.end());
    return first;
  }
  if (!compile.dump.empty()) ClearDump(compile.dump);
  const std::string log = TextOf(compile.log);
  Result<XlaCompileAnswer> second = CompileForm(forms[1], compile, request, warnings, bounds);
  if (!second.has_value()) {
    // The log is that of the error that is told.
    if (!compile.log.empty()) HLOSCOPE_TRY(WriteFileAtomically(compile.log, log));
    return first;
  }
  report.form = forms[1].module;
  warnings.push_back("XLA rejected the module as it is: " + first.error().message);
  warnings.insert(warnings.end(), forms[1].warnings.begin(), forms[1].warnings.end());
  return second;
}

// The folder of a dump and the log in it: whether they were there before.
class OldFiles {
 public:
  explicit OldFiles(const fs::path& folder)
      : has_folder_(IsThere(folder)), has_log_(IsThere(folder / kLog)) {}

  // Removes what the call has made and left empty.
  void RemoveEmpty(const fs::path& folder) const {
    std::error_code error;
    const fs::path log = folder / kLog;
    if (!has_log_ && fs::file_size(log, error) == 0 && !error) fs::remove(log, error);
    if (!has_folder_) fs::remove(folder, error);  // fails where anything is in it
  }

 private:
  static bool IsThere(const fs::path& path) {
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error));
  }

  bool has_folder_, has_log_;
};

}  // namespace

Result<CompileModuleReport> CompileModule(const std::shared_ptr<const hlo::Module>& module,
                                          const CompileModuleRequest& request,
                                          const std::stop_token& stop) {
  const PlatformRow* platform = FindPlatform(request.platform);
  if (platform != nullptr && platform->Has(kNeedsPython)) {
    return CompileWithJaxlib(module, request, stop);
  }
  Budget bounds = BoundsOf(request.options, request.options.limits);
  bounds.stop = stop;
  CompileModuleReport report;
  HLOSCOPE_ASSIGN_OR_RETURN(report.plugin, ResolvePlugin(request.platform, request.search));
  XlaCompileRequest compile;
  compile.plugin = report.plugin.path;
  compile.optimized_module = request.optimized_module;
  compile.memory_bytes = MachineMemoryBytes() / 100 * request.options.limits.run_memory_percent;
  HLOSCOPE_TRY(PrepareDevice(request, report, compile));
  HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<ModuleForm> forms, FormsOf(module, request));
  AddFlags(request, report.plugin.devices, compile.flags);
  std::optional<ScratchFolder> scratch;
  const OldFiles old(request.dump);
  HLOSCOPE_ASSIGN_OR_RETURN(compile.dump, DumpFolder(request, scratch));
  compile.timers = request.timers;
  if (!request.dump.empty()) compile.log = (fs::path(compile.dump) / kLog).string();
  if (scratch) compile.flags.emplace_back("xla_dump_hlo_as_proto", "true");
  Result<XlaCompileAnswer> answer = CompileForms(forms, compile, request, report, bounds);
  if (!answer.has_value()) {
    // Nothing came of it: no folder either, unless it was there or XLA has left something in it.
    if (!request.dump.empty()) old.RemoveEmpty(compile.dump);
    return std::unexpected(std::move(answer).error());
  }
  report.load_ms = answer->load_ms;
  report.compile_ms = answer->compile_ms;
  report.memory = std::move(answer->memory);
  if (request.optimized_module) {
    report.optimized_module = DumpedModule(compile.dump, request.options.limits);
    if (report.optimized_module.empty()) {
      report.optimized_module = std::move(answer->optimized_module);
    }
  }
  report.warnings.insert(report.warnings.end(), answer->warnings.begin(), answer->warnings.end());
  if (!request.dump.empty()) CountFiles(compile.dump, report);
  return report;
}

}  // namespace hloscope::replay
