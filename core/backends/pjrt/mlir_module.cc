// Having a plugin translate MLIR, and finding the module in what it dumps.
#include "core/backends/pjrt/mlir_module.h"

#include <charconv>
#include <cstring>
#include <span>
#include <string>

#include "core/backends/pjrt/dump_folder.h"
#include "core/backends/pjrt/xla_compile.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/file.h"
#include "core/base/memory_limit.h"
#include "core/base/scratch_folder.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::replay {
namespace {

// "mhlo.num_partitions = 4 : i32" of the module; 1 where it does not say. Bytecode does not in
// words.
int64_t CountIn(std::string_view code, std::string_view name) {
  const size_t at = code.find(name);
  if (at == std::string_view::npos) return 1;
  const size_t digit = code.find_first_not_of(" =", at + name.size());
  int64_t count = 1;
  if (digit != std::string_view::npos) {
    std::from_chars(code.data() + digit, code.data() + code.size(), count);
  }
  constexpr int64_t kMax = 1024;
  return count >= 1 && count <= kMax ? count : 1;
}

// The plugin is not told where the text is from: operations without a location of their own are
// then in a file "-".
void NameSource(hlo::ProtoFile& file, std::string_view path) {
  constexpr std::string_view kUnnamed = "-";
  const hlo::Module& module = *file.module;
  hlo::ModuleBuilder builder = hlo::CopyModule(module);
  const hlo::StringId name = builder.Intern(path);
  for (hlo::StringId& known : builder.header().stack_frames.file_names) {
    if (module[known] == kUnnamed) known = name;
  }
  for (size_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::InstructionId id(i);
    const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
    if (metadata == nullptr || module[metadata->source_file] != kUnnamed) continue;
    hlo::OpMetadata named = *metadata;
    named.source_file = name;
    builder.SetAttribute(id, builder.Make(hlo::AttributeKey::kMetadata, std::move(named)));
  }
  file.module = builder.Build();
}

}  // namespace

Result<hlo::ProtoFile> TranslateMlir(const std::string& name, std::string_view code,
                                     const Limits& limits, const std::stop_token& stop) {
  const PlatformRow* platform = PlatformWith(kReadsMlir);
  if (platform == nullptr) return UnsupportedError("no platform of this build reads StableHLO");
  HLOSCOPE_ASSIGN_OR_RETURN(const PluginFile plugin, ResolvePlugin(platform->name, {}));
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  XlaCompileRequest request;
  request.plugin = plugin.path;
  request.module = code;
  request.format = "mlir";
  request.dump = folder.path();
  request.flags = {{"xla_dump_hlo_as_proto", "true"}};
  request.replicas = CountIn(code, "mhlo.num_replicas");
  request.partitions = CountIn(code, "mhlo.num_partitions");
  const auto compiled =
      CompileWithXla(request, std::chrono::seconds(limits.run_deadline_seconds), stop);
  // What cannot be compiled may have been translated all the same.
  const std::string path = FileEndingIn(folder.path(), ".before_optimizations.hlo.pb");
  if (path.empty() && !compiled.has_value()) return std::unexpected(compiled.error());
  if (path.empty()) return InternalError("the plugin dumped no module before optimizations");
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile translated, WithinMemory(limits, path, [&] {
                              return hlo::ReadProto(std::as_bytes(std::span(file.bytes())), limits,
                                                    std::make_shared<FileView>(file));
                            }));
  NameSource(translated, name);
  return translated;
}

}  // namespace hloscope::replay
