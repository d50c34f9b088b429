// Counts of the instructions that each run executes once.
#include "profiler/module_runs.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::profiler {
namespace {

bool IsCalledOnce(hlo::Opcode caller) {
  return caller == hlo::Opcode::kCall || caller == hlo::Opcode::kFusion ||
         caller == hlo::Opcode::kAsyncStart;
}

// By computation: whether every run of the module executes it exactly once.
std::vector<bool> RunOnce(const hlo::Module& module) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  std::vector<bool> once(module.computations().size(), false);
  for (const hlo::ComputationId c : calls.callers_first()) {
    if (c == module.entry_id()) {
      once[c.index] = true;
      continue;
    }
    size_t callers = 0;
    bool is_once = true;
    for (const hlo::InstructionId id : calls.callers(c)) {
      const hlo::Instruction& caller = module[id];
      if (caller.opcode == hlo::Opcode::kAsyncUpdate || caller.opcode == hlo::Opcode::kAsyncDone)
        continue;
      ++callers;
      is_once = is_once && IsCalledOnce(caller.opcode) && once[caller.computation.index];
    }
    once[c.index] = callers == 1 && is_once;
  }
  return once;
}

// What most have in common; of several the least, since an instruction may be several kernels.
ModuleRuns RunsBy(const std::vector<int64_t>& counts) {
  std::map<int64_t, size_t> alike;
  for (const int64_t count : counts) ++alike[count];
  const auto usual = std::ranges::max_element(alike, {}, &std::pair<const int64_t, size_t>::second);
  if (usual == alike.end()) return {};
  const int64_t count = usual->first;
  return {count, alike.contains(count - 1) || alike.contains(count + 1)};
}

// "jit_f(1234)" and "jit_f", as lines of modules name what runs.
int64_t EventsOfModule(const EventStore& store, const std::string& name) {
  int64_t count = 0;
  for (const Lane& lane : store.lanes()) {
    if (lane.role != LaneRole::kModules) continue;
    for (uint32_t e = lane.first_event; e < lane.first_event + lane.event_count; ++e) {
      const std::string_view text = store.text(store.name(EventId(e)));
      count += text.substr(0, text.find('(')) == name ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

std::vector<ModuleRuns> ModuleRunsOf(const Attribution& attribution) {
  const auto& modules = attribution.modules();
  std::vector<std::vector<bool>> once(modules.size());
  std::vector<std::vector<int64_t>> counts(modules.size());
  std::vector<bool> ran(modules.size(), false);
  for (const InstructionTime& time : attribution.times()) {
    const uint32_t m = time.target.module;
    const hlo::Module& module = *modules[m].module;
    if (!ran[m]) once[m] = RunOnce(module);
    ran[m] = true;
    if (once[m][module[time.target.instruction].computation.index]) counts[m].push_back(time.count);
  }
  std::vector<ModuleRuns> runs(modules.size());
  for (size_t m = 0; m < modules.size(); ++m) {
    runs[m] = RunsBy(counts[m]);
    if (ran[m] && runs[m].count == 0)
      runs[m].count = EventsOfModule(attribution.store(), modules[m].name);
  }
  return runs;
}

}  // namespace hloscope::profiler
