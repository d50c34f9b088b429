// Modules of files and dumps, told by the names and numbers that a trace has.
#include "app/reports/attributed_modules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/dump/container.h"
#include "core/dump/dump_model.h"
#include "core/dump/load.h"
#include "core/dump/stage_order.h"

namespace hloscope::app {

Result<std::vector<profiler::AttributedModule>> LoadAttributedModules(
    const std::vector<std::string>& paths, const Limits& limits) {
  std::vector<profiler::AttributedModule> modules;
  for (const std::string& given : paths) {
    if (!dump::IsFolder(given)) {
      HLOSCOPE_ASSIGN_OR_RETURN(dump::LoadedModule loaded, dump::LoadSoundModule(given, limits));
      modules.push_back({-1, std::string(loaded.module->name()), loaded.module, {}});
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto model, dump::DumpModel::Open(given, limits));
    const size_t before = modules.size();
    for (int32_t m = 0; std::cmp_less(m, model->modules().size()); ++m) {
      const dump::ModuleEntry& entry = model->modules()[static_cast<size_t>(m)];
      const int32_t stage = model->FinalStage(m);
      if (stage < 0 || dump::PhaseOf(entry.stages[static_cast<size_t>(stage)].name) !=
                           dump::StagePhase::kFinal) {
        continue;
      }
      HLOSCOPE_ASSIGN_OR_RETURN(auto module, model->Module(m, stage));
      modules.push_back({entry.id, std::string(module->name()), std::move(module), {}});
    }
    if (modules.size() == before) {
      return InputError(given + ": no module after optimizations in this folder",
                        "`hloscope info` shows what it contains");
    }
  }
  return modules;
}

// The trace knows better than we are told: modules of a name it carries are not added. The number
// of a given one counts where the trace says it too: those of another process mean nothing.
void AddGivenModules(const profiler::EventStore& store,
                     const std::vector<profiler::AttributedModule>& given,
                     std::vector<profiler::AttributedModule>& modules) {
  const auto is_named = [&](const profiler::AttributedModule& m) {
    return m.program >= 0 &&
           std::ranges::any_of(store.operations(), [&](const profiler::Operation& o) {
             return o.program == m.program && o.module.valid() && store.text(o.module) == m.name;
           });
  };
  std::set<std::string> carried, named;
  for (const profiler::AttributedModule& m : modules) {
    if (m.program >= 0) carried.insert(m.name);
  }
  for (const profiler::AttributedModule& m : given) {
    if (is_named(m)) named.insert(m.name);
  }
  for (const profiler::AttributedModule& m : given) {
    if (carried.contains(m.name)) continue;
    if (named.contains(m.name)) {
      if (is_named(m)) modules.push_back(m);
      continue;
    }
    modules.push_back(m);
    modules.back().program = -1;
  }
}

}  // namespace hloscope::app
