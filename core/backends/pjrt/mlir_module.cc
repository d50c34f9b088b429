// Having a plugin translate MLIR, and finding the module in what it dumps.
#include "core/backends/pjrt/mlir_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string>

#include "core/backends/jaxlib/jaxlib_process.h"
#include "core/backends/pjrt/dump_folder.h"
#include "core/backends/pjrt/exported_entry.h"
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

// A program in MLIR, and what is known of it from outside.
struct Program {
  std::string_view code;
  int64_t replicas = 1, partitions = 1;
};

Result<hlo::ProtoFile> TranslateByPlugin(const Program& program, const Limits& limits,
                                         const Budget& bounds) {
  const PlatformRow* platform = PlatformWith(kReadsMlir);
  if (platform == nullptr) return UnsupportedError("no platform of this build reads StableHLO");
  HLOSCOPE_ASSIGN_OR_RETURN(const PluginFile plugin, ResolvePlugin(platform->name, {}));
  HLOSCOPE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Make());
  XlaCompileRequest request;
  request.plugin = plugin.path;
  request.module = program.code;
  request.format = "mlir";
  request.dump = folder.path();
  request.flags = {{"xla_dump_hlo_as_proto", "true"}};
  request.replicas = program.replicas;
  request.partitions = program.partitions;
  const auto compiled = CompileWithXla(request, *bounds.deadline, bounds.stop);
  // What cannot be compiled may have been translated all the same.
  const std::string path = FileEndingIn(folder.path(), ".before_optimizations.hlo.pb");
  if (path.empty() && !compiled.has_value()) return std::unexpected(compiled.error());
  if (path.empty()) return InternalError("the plugin dumped no module before optimizations");
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, FileView::Open(path, limits));
  return WithinMemory(limits, path, [&] {
    return hlo::ReadProto(std::as_bytes(std::span(file.bytes())), limits,
                          std::make_shared<FileView>(file));
  });
}

using KnownDimensions = std::vector<std::optional<dump::Dimensions>>;

// Symbolic shapes become those of the arguments.
Result<hlo::ProtoFile> TranslateByJaxlib(const Program& program, const KnownDimensions& dimensions,
                                         std::optional<int32_t> platform_index,
                                         const Limits& limits, const Budget& bounds) {
  auto place = ResolveJaxlib({});
  if (!place.has_value()) {
    Error error = std::move(place).error();
    error.message = "its shapes are symbolic, which jaxlib refines: " + error.message;
    return std::unexpected(std::move(error));
  }
  JaxlibStart start;
  start.place = *std::move(place);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto child, JaxlibProcess::Start(start, bounds));
  HLOSCOPE_ASSIGN_OR_RETURN(std::string module,
                            child->Translate({program.code, dimensions, platform_index}, bounds));
  const auto owner = std::make_shared<std::string>(std::move(module));
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile translated, WithinMemory(limits, "", [&] {
                              return hlo::ReadProto(std::as_bytes(std::span(*owner)), limits,
                                                    owner);
                            }));
  hlo::ModuleBuilder builder = hlo::CopyModule(*translated.module);
  builder.header().replica_count = program.replicas;
  builder.header().num_partitions = program.partitions;
  translated.module = builder.Build();
  return translated;
}

// Whether types of the text have dimensions without a size. Of bytecode nothing is known.
bool HasOpenDimension(std::string_view code) {
  return code.find("tensor<?") != std::string_view::npos ||
         code.find("x?x") != std::string_view::npos;
}

// Whether the text was printed with MLIR's pretty debug info: "#loc1 = /home/me/net.py:8:0", where
// what can be read back is "#loc1 = loc("/home/me/net.py":8:0)".
bool HasPrettyLocations(std::string_view code) {
  if (!code.starts_with("#loc")) return false;
  constexpr std::string_view kIs = " = ";
  const std::string_view line = code.substr(0, code.find('\n'));
  const size_t is = line.find(kIs);
  return is != line.npos && !line.substr(is + kIs.size()).starts_with("loc(");
}

Result<hlo::ProtoFile> TranslatePlain(std::string_view code, const MlirArguments& arguments,
                                      const Limits& limits, const Budget& bounds) {
  if (!arguments.variables.empty()) {
    return InputError(fmt::format("--shape {}: MLIR does not name its dimensions",
                                  arguments.variables.front().name),
                      "--inputs FILE sets the shapes of all arguments");
  }
  if (HasPrettyLocations(code)) {
    Error error = InputError("printed with pretty debug info, which MLIR itself cannot read back",
                             "the bytecode that was saved with it, or the text without locations: "
                             "of PyTorch/XLA without XLA_HLO_DEBUG, which `hloscope record` sets "
                             "where it is not set (XLA_HLO_DEBUG=0)")
                      .error();
    error.place.line = 1;
    return std::unexpected(std::move(error));
  }
  const Program program{code, CountIn(code, "mhlo.num_replicas"),
                        CountIn(code, "mhlo.num_partitions")};
  if (!HasOpenDimension(code)) return TranslateByPlugin(program, limits, bounds);
  KnownDimensions known;
  if (arguments.dimensions) {
    HLOSCOPE_ASSIGN_OR_RETURN(known, arguments.dimensions());
  }
  if (known.empty()) {
    return InputError("shapes of its arguments are not set: their types have dimensions \"?\"",
                      "`hloscope run FILE --inputs F.npz --python ENV` takes them from the arrays; "
                      "ENV is a Python environment with jaxlib");
  }
  return TranslateByJaxlib(program, known, {}, limits, bounds);
}

// The place of the platform among those that it was exported for.
Result<std::optional<int32_t>> PlatformIndex(const dump::JaxExport& exported,
                                             const std::string& wanted) {
  if (!exported.takes_platform()) return std::nullopt;
  const auto index_of = [&](std::string_view name) {
    return std::ranges::find(exported.platforms, name) - exported.platforms.begin();
  };
  const auto count = std::ssize(exported.platforms);
  if (wanted.empty()) {
    const auto host = index_of("cpu");
    return static_cast<int32_t>(host < count ? host : 0);
  }
  const auto index = index_of(wanted);
  if (index < count) return static_cast<int32_t>(index);
  return InputError(fmt::format("it was exported for {}, not for {}",
                                fmt::join(exported.platforms, ", "), wanted),
                    "run it on one of those, or export it with platforms=(…)");
}

Result<hlo::ProtoFile> TranslateExport(std::string_view bytes, const MlirArguments& arguments,
                                       const Limits& limits, const Budget& bounds) {
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::JaxExport exported, dump::ReadJaxExport(bytes));
  if (exported.ordered_effects > 0) {
    return UnsupportedError("it has ordered side effects, whose tokens are arguments of its module",
                            "export the function without them");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto platform, PlatformIndex(exported, arguments.platform));
  const bool symbolic = exported.is_symbolic();
  KnownDimensions known;
  if (symbolic && arguments.dimensions) {
    HLOSCOPE_ASSIGN_OR_RETURN(known, arguments.dimensions());
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto shapes,
                            dump::ResolveShapes(exported, arguments.variables, known));
  const Program program{exported.module, 1, int64_t{exported.devices}};
  const bool as_it_is = !platform && exported.kept.size() == exported.arguments.size();
  if (!symbolic) {
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile file, TranslateByPlugin(program, limits, bounds));
    if (as_it_is) return file;
    HLOSCOPE_ASSIGN_OR_RETURN(
        file.module, WithExportedArguments(std::move(file.module), exported, platform, shapes));
    return file;
  }
  KnownDimensions kept;
  for (const uint32_t k : exported.kept) kept.emplace_back(shapes[k]);
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile file,
                            TranslateByJaxlib(program, kept, platform, limits, bounds));
  if (exported.kept.size() == exported.arguments.size()) return file;
  HLOSCOPE_ASSIGN_OR_RETURN(file.module,
                            WithExportedArguments(std::move(file.module), exported, {}, shapes));
  return file;
}

}  // namespace

Result<hlo::ProtoFile> TranslateMlir(const std::string& name, std::string_view code,
                                     const MlirArguments& arguments, const Limits& limits,
                                     const Budget& budget) {
  const Budget bounds = BoundsOf({.budget = budget}, limits);
  const bool exported = dump::LooksLikeJaxExport(code);
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::ProtoFile translated,
                            exported ? TranslateExport(code, arguments, limits, bounds)
                                     : TranslatePlain(code, arguments, limits, bounds));
  NameSource(translated, name);
  return translated;
}

std::string JaxPlatformOf(std::string_view platform) {
  const PlatformRow* const row = FindPlatform(platform);
  const bool gpu = row != nullptr && (row->devices == Devices::kGpu || row->Has(kNeedsDriver) ||
                                      row->Has(kSimulatesGpu));
  return gpu ? "cuda" : "cpu";
}

}  // namespace hloscope::replay
