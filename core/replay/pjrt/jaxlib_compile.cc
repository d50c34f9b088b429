// Compiling an adapted module in a child Python.
#include "core/replay/pjrt/jaxlib_compile.h"

#include <fmt/format.h>

#include "core/hlo/proto/proto.h"
#include "core/replay/pjrt/compile_options.h"
#include "core/replay/pjrt/stablehlo_changes.h"

namespace hloscope::replay {

PluginSearch PythonOf(const RunOptions& options) {
  constexpr std::string_view kName = "HLOSCOPE_PYTHON=";
  for (const std::string& variable : options.environment) {
    if (variable.starts_with(kName)) return {variable.substr(kName.size())};
  }
  return {};
}

Result<pjrt::Adapted> AdaptForJaxlib(std::shared_ptr<const hlo::Module> module,
                                     const RunOptions& options) {
  if (!options.run_passes) {
    return UnsupportedError(
        "jaxlib takes StableHLO, which cannot describe an optimised module: XLA's passes have to "
        "run",
        "leave out the option that switches the passes off, or run it on " +
            PlatformNames(kNeedsPlugin));
  }
  return pjrt::Adapt(std::move(module), options);
}

static std::string OptionsFor(const pjrt::Adapted& adapted) {
  pjrt::CompileOptions options;
  options.replicas = adapted.counts.replicas;
  options.partitions = adapted.counts.partitions;
  options.spmd_partitioning = adapted.partition;
  options.shardy = adapted.shardy;
  for (int64_t id = 0; id < adapted.counts.devices(); ++id) options.devices.push_back(id);
  return pjrt::Serialize(options);
}

// What Shardy noted in HLO is no module of its dialect any more on the way through StableHLO.
static Error ExplainShardy(const pjrt::Adapted& adapted, Error error) {
  if (!adapted.shardy || error.message.find("xla.sdy") == std::string::npos) return error;
  error.error_class = ErrorClass::kUnsupported;
  error.hint = "its Shardy notes do not survive StableHLO: run the module after partitioning";
  return error;
}

Result<JaxlibProgram> CompileAdapted(JaxlibProcess& child, const pjrt::Adapted& adapted,
                                     bool optimized_module, const JobBounds& bounds) {
  const std::string module = hlo::ModuleToProto(*adapted.module, hlo::ProtoIds::kInOneRow);
  const std::string options = OptionsFor(adapted);
  auto compiled =
      child.Compile({module, options, adapted.counts.devices(), optimized_module}, bounds);
  if (!compiled.has_value()) return std::unexpected(ExplainShardy(adapted, compiled.error()));
  JaxlibProgram program = *std::move(compiled);
  const auto taken = hlo::ReadProto(std::as_bytes(std::span(program.taken)));
  const std::string changes = taken.has_value()
                                  ? pjrt::StableHloChanges(*adapted.module, *taken->module)
                                  : "it cannot be read back: " + taken.error().message;
  if (!changes.empty()) {
    program.warnings.push_back(
        fmt::format("jaxlib takes StableHLO, and the module changed on the way: {}", changes));
  }
  return program;
}

std::string UnknownFlagIn(const Error& error) {
  constexpr std::string_view kSign = "does not know the XLA flag --";
  const size_t at = error.message.find(kSign);
  if (at == std::string::npos) return {};
  const std::string_view rest = std::string_view(error.message).substr(at + kSign.size());
  return std::string(rest.substr(0, rest.find_first_of("= ")));
}

}  // namespace hloscope::replay
