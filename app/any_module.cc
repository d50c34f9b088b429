#include "app/any_module.h"

#include <fmt/format.h>

#include "core/dump/container.h"
#include "core/dump/listing/sniff.h"

namespace hloscope::app {
namespace {

using Loader = Result<dump::LoadedModule> (*)(const FileView&, const Limits&, dump::InputFormat);

Result<dump::LoadedModule> Load(Loader load, const std::string& path, const Limits& limits,
                                const std::string& format, const Budget& budget,
                                const replay::MlirArguments& arguments) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, dump::OpenModuleFile(path, limits));
  const dump::FileKind kind = dump::Sniff(file.bytes());
  if (!IsMlir(format, kind)) {
    // What is no module at all is told as that.
    if (!arguments.variables.empty() && dump::IsModuleKind(kind)) {
      Error error{
          ErrorClass::kInput,
          fmt::format("--shape {}: the shapes of HLO are fixed", arguments.variables.front().name),
          {path, 0, 0},
          "it is for programs of jax.export that have dimension variables"};
      return std::unexpected(std::move(error));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const dump::InputFormat known,
                              dump::InputFormatFromName(format, ", stablehlo, mhlo"));
    return load(file, limits, known);
  }
  auto translated = replay::TranslateMlir(path, file.bytes(), arguments, limits, budget);
  if (!translated.has_value()) {
    Error error = std::move(translated).error();
    if (error.place.file.empty()) error.place.file = path;
    return std::unexpected(std::move(error));
  }
  dump::LoadedModule loaded{path, file, kind, nullptr, {}, {}};
  loaded.proto = *std::move(translated);
  loaded.module = loaded.proto.module;
  return loaded;
}

}  // namespace

bool IsMlir(const std::string& format, dump::FileKind kind) {
  if (!format.empty()) return format == "stablehlo" || format == "mhlo" || format == "mlir";
  return dump::IsProgramKind(kind);
}

Result<dump::LoadedModule> LoadAnyModule(const std::string& path, const Limits& limits,
                                         const std::string& format, const Budget& budget,
                                         const replay::MlirArguments& arguments) {
  return Load(&dump::LoadModule, path, limits, format, budget, arguments);
}

Result<dump::LoadedModule> LoadAnySoundModule(const std::string& path, const Limits& limits,
                                              const std::string& format, const Budget& budget,
                                              const replay::MlirArguments& arguments) {
  return Load(&dump::LoadSoundModule, path, limits, format, budget, arguments);
}

}  // namespace hloscope::app
