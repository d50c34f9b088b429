#include "core/debug/run/compile_again.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/ahead/own_compile.h"
#include "core/backends/pjrt/compile_module.h"
#include "core/debug/run/platforms_here.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

// What a run on our own compiler reads of them.
constexpr std::string_view kOwnFlag = "xla_disable_hlo_passes";

Result<CompiledAgain> CompileOwn(const std::shared_ptr<const hlo::Module>& module,
                                 const CompileAgainRequest& request, const std::stop_token& stop) {
  for (const auto& [name, value] : request.flags) {
    if (name == kOwnFlag) continue;
    return InputError(fmt::format("--{} has no effect on our own compiler", name),
                      fmt::format("it reads --{}; choose an XLA for other flags", kOwnFlag));
  }
  const replay::OwnCompileRequest own{.dump = request.folder,
                                      .passes = true,
                                      .xla_flags = request.flags,
                                      .limits = request.limits,
                                      .program = request.program};
  HLOSCOPE_TRY(replay::OwnCompile(*module, own, stop));
  return CompiledAgain{.compiler = request.platform, .warnings = {}};
}

}  // namespace

std::vector<DumpingCompiler> DumpingCompilers() {
  const std::vector<std::string> here = PlatformsHere();
  std::vector<DumpingCompiler> platforms = {
      {.name = std::string(replay::DefaultPlatform().name), .is_here = true}};
  for (const replay::PlatformRow& row : replay::PlatformRows()) {
    if (!row.Has(replay::kDumps)) continue;
    platforms.push_back({.name = std::string(row.name),
                         .has_targets = row.Has(replay::kTargets),
                         .takes_flags = row.Has(replay::kXlaFlags),
                         .is_here = std::ranges::count(here, row.name) > 0});
  }
  return platforms;
}

Result<CompiledAgain> CompileAgain(const std::shared_ptr<const hlo::Module>& module,
                                   const CompileAgainRequest& request,
                                   const std::stop_token& stop) {
  if (request.platform == replay::DefaultPlatform().name) return CompileOwn(module, request, stop);
  replay::CompileModuleRequest compile;
  compile.options.limits = request.limits;
  compile.options.platform.xla_flags = request.flags;
  compile.options.load.fill_elided = 0;
  compile.platform = request.platform;
  compile.target = request.target;
  compile.dump = request.folder;
  compile.passes = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const replay::CompileModuleReport report,
                            replay::CompileModule(module, compile, stop));
  return CompiledAgain{.compiler = fmt::format("{} for {}", request.platform, report.device),
                       .warnings = report.warnings};
}

}  // namespace hloscope::debug
