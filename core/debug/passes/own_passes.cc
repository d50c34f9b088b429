// Compiling with a dump, and looking at it.
#include "core/debug/passes/own_passes.h"

#include "core/debug/passes/explain_run.h"
#include "core/debug/passes/find_pass.h"
#include "core/replay/pjrt/compile_module.h"
#include "core/replay/pjrt/scratch_folder.h"

namespace hloscope::debug {
namespace {

Result<DivergeVerdict> Explain(const std::shared_ptr<const hlo::Module>& module,
                               const RunRequest& request, const std::stop_token& stop) {
  replay::CompileModuleRequest compile;
  static_cast<replay::RunOptions&>(compile) = request;
  compile.platform = request.platform;
  compile.passes = true;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto folder, replay::ScratchFolder::Make());
  compile.dump = folder.path();
  HLOSCOPE_TRY(replay::CompileModule(module, compile, stop));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(folder.path(), request.limits));
  if (model->modules().empty()) return InputError("the compiler dumped no module");
  HLOSCOPE_ASSIGN_OR_RETURN(const Pipeline pipeline, ReadPipeline(*model, 0, request.limits));
  StageValues values(request, stop);
  HLOSCOPE_ASSIGN_OR_RETURN(const Leaves results, values.Begin(module));
  DivergeVerdict verdict = FindGuiltyPass(values, results, module, pipeline, stop);
  PlatformTries tries(module, request, values, results, stop);
  ExplainRun(verdict, tries, values, pipeline, stop);
  return verdict;
}

}  // namespace

DivergeVerdict ExplainByOwnPasses(const std::shared_ptr<const hlo::Module>& module,
                                  const RunRequest& request, const std::stop_token& stop) {
  Result<DivergeVerdict> verdict = Explain(module, request, stop);
  return verdict.has_value() ? *std::move(verdict) : RefusedVerdict(std::move(verdict).error());
}

}  // namespace hloscope::debug
