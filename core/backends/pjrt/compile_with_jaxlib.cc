// The jaxlib of a Python environment in the place of a plugin.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/backends/pjrt/dump_folder.h"
#include "core/backends/pjrt/jaxlib_compile.h"

namespace hloscope::replay {
namespace {

// Starts the child; dump flags that are newer than its XLA are left out.
Result<std::unique_ptr<JaxlibProcess>> StartForDump(JaxlibStart& start,
                                                    const CompileModuleRequest& request,
                                                    const Budget& bounds,
                                                    CompileModuleReport& report) {
  for (;;) {
    auto child = JaxlibProcess::Start(start, bounds);
    if (child.has_value()) return child;
    const std::string unknown = UnknownFlagIn(child.error());
    const auto is_it = [&](const auto& flag) { return flag.first == unknown; };
    if (unknown.empty() || std::ranges::any_of(request.options.platform.xla_flags, is_it))
      return child;
    if (std::erase_if(start.flags, is_it) == 0) return child;
    report.warnings.push_back(fmt::format("this XLA does not know --{}: dropped", unknown));
  }
}

Result<JaxlibProgram> CompileIn(JaxlibStart& start, const pjrt::Adapted& adapted,
                                const CompileModuleRequest& request, const Budget& bounds,
                                CompileModuleReport& report) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const auto child, StartForDump(start, request, bounds, report));
  report.load_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  report.plugin.version = child->facts().version;
  return CompileAdapted(*child, adapted, request.optimized_module, false, bounds);
}

}  // namespace

Result<CompileModuleReport> CompileWithJaxlib(const std::shared_ptr<const hlo::Module>& module,
                                              const CompileModuleRequest& request,
                                              const std::stop_token& stop) {
  if (!request.target.empty()) {
    return InputError(fmt::format("--target {}: {} compiles for this machine only", request.target,
                                  request.platform),
                      "--target needs --with " + PlatformNames(kTargets));
  }
  if (request.timers) {
    return InputError(fmt::format("--timers: the log of {} is not kept", request.platform),
                      "`hloscope record` keeps the log of a program of JAX");
  }
  JaxlibStart start;
  HLOSCOPE_ASSIGN_OR_RETURN(
      start.place,
      ResolveJaxlib(request.search.python.empty() ? PythonOf(request.options) : request.search));
  HLOSCOPE_ASSIGN_OR_RETURN(const pjrt::Adapted adapted, AdaptForJaxlib(module, request.options));
  std::optional<ScratchFolder> scratch;
  HLOSCOPE_ASSIGN_OR_RETURN(start.folder, DumpFolder(request, scratch));
  AddFlags(request, Devices::kHost, start.flags);
  if (scratch) start.flags.emplace_back("xla_dump_hlo_as_proto", "true");
  if (!start.folder.empty()) start.flags.emplace_back("xla_dump_to", ".");
  start.devices = adapted.counts.devices();

  CompileModuleReport report;
  report.device = "this machine";
  report.form = adapted.module;
  report.plugin.path = start.place.python;
  report.plugin.distribution = request.platform;
  Budget bounds = BoundsOf(request.options, request.options.limits);
  bounds.stop = stop;
  auto program = CompileIn(start, adapted, request, bounds, report);
  if (!program.has_value()) {
    // Nothing came of it: no folder either, unless XLA has left something in it.
    if (std::error_code ignored; !request.dump.empty()) {
      std::filesystem::remove(start.folder, ignored);
    }
    return std::unexpected(std::move(program).error());
  }
  report.compile_ms = program->compile_ms;
  report.memory = std::move(program->memory);
  for (const auto& more : {adapted.warnings, program->warnings}) {
    report.warnings.insert(report.warnings.end(), more.begin(), more.end());
  }
  if (request.optimized_module) {
    report.optimized_module = DumpedModule(start.folder, request.options.limits);
    if (report.optimized_module.empty()) {
      report.optimized_module = std::move(program->optimized_module);
    }
  }
  if (!request.dump.empty()) CountFiles(start.folder, report);
  return report;
}

}  // namespace hloscope::replay
