// Compiling an adapted module in a child Python.
#include "core/backends/pjrt/jaxlib_compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/stablehlo_changes.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::replay {

PluginSearch PythonOf(const RunOptions& options) {
  constexpr std::string_view kName = "HLOSCOPE_PYTHON=";
  for (const std::string& variable : options.environment) {
    if (variable.starts_with(kName)) return {variable.substr(kName.size())};
  }
  return {};
}

// Gives each collective a channel of its own, which XLA before 2025 wants where today's frameworks
// write the same for all; null where they have them. Sends and receives share one by design.
static std::shared_ptr<const hlo::Module> WithOwnChannels(const hlo::Module& module) {
  std::vector<hlo::InstructionId> collectives;
  std::set<int64_t> seen;
  int64_t last = 0;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::Instruction& instruction = module[hlo::InstructionId(i)];
    const int64_t channel = module.GetInt(instruction, hlo::AttributeKey::kChannelId, 0);
    if (channel <= 0) continue;
    last = std::max(last, channel);
    if (!hlo::HasFlag(instruction.opcode, hlo::kFlagCollective)) continue;
    if (!seen.insert(channel).second) collectives.emplace_back(i);
  }
  if (collectives.empty()) return nullptr;
  hlo::ModuleBuilder builder = hlo::CopyModule(module);
  for (const hlo::InstructionId id : collectives) {
    builder.SetAttribute(id, builder.MakeInt(hlo::AttributeKey::kChannelId, ++last));
  }
  return builder.Build();
}

Result<pjrt::Adapted> AdaptForJaxlib(std::shared_ptr<const hlo::Module> module,
                                     const RunOptions& options) {
  if (!options.platform.run_passes) {
    return UnsupportedError(
        "jaxlib takes StableHLO, which cannot describe an optimised module: XLA's passes have to "
        "run",
        "leave out the option that switches the passes off, or run it on " +
            PlatformNames(kNeedsPlugin));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(pjrt::Adapted adapted, pjrt::Adapt(std::move(module), options));
  if (auto renumbered = WithOwnChannels(*adapted.module)) adapted.module = std::move(renumbered);
  return adapted;
}

static std::string OptionsFor(const pjrt::Adapted& adapted) {
  pjrt::CompileOptions options;
  options.replicas = adapted.counts.replicas;
  options.partitions = adapted.counts.partitions;
  options.partitioning = adapted.partitioning;
  for (int64_t id = 0; id < adapted.counts.devices(); ++id) options.devices.push_back(id);
  return pjrt::Serialize(options);
}

// What Shardy noted in HLO is no module of its dialect any more on the way through StableHLO.
static Error ExplainShardy(const pjrt::Adapted& adapted, Error error) {
  if (!adapted.partitioning.shardy || error.message.find("xla.sdy") == std::string::npos)
    return error;
  error.error_class = ErrorClass::kUnsupported;
  error.hint = "its Shardy annotations are lost in StableHLO: run the module after partitioning";
  return error;
}

Result<JaxlibProgram> CompileAdapted(JaxlibProcess& child, const pjrt::Adapted& adapted,
                                     bool optimized_module, bool trace, const Budget& bounds) {
  const std::string module = hlo::ModuleToProto(*adapted.module, hlo::ProtoIds::kInOneRow);
  const std::string options = OptionsFor(adapted);
  auto compiled =
      child.Compile({module, options, adapted.counts.devices(), optimized_module, trace}, bounds);
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
