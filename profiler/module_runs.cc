// Counts of the instructions that each run executes once.
#include "profiler/module_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "core/hlo/analysis/call_graph.h"
#include "profiler/work_segments.h"

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

// The run and the device that the event is of; empty where it names no run.
std::string RunOf(const EventStore& store, EventId e) {
  const auto text = [](const Argument& argument) {
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, argument.value);
  };
  std::string run, device;
  for (const Argument& argument : store.Arguments(e)) {
    if (argument.name == "run_id") run = text(argument);
    if (argument.name == "device_ordinal") device = text(argument);
  }
  if (run.empty()) return {};
  return fmt::format("{} {} {}", run, device, store.lanes()[store.LaneOf(e).index].group);
}

// How many runs the events of these instructions name, by module; 0 where one names none. An
// instruction may have several events in a run, such as a copy of its operand.
std::vector<int64_t> NamedRuns(const Attribution& attribution,
                               const std::vector<hlo::InstructionId>& of_modules) {
  const EventStore& store = attribution.store();
  std::vector<std::set<std::string>> runs(of_modules.size());
  std::vector<bool> is_unnamed(of_modules.size(), false);
  for (uint32_t i = 0; i < store.size(); ++i) {
    const Target target = attribution.TargetOf(EventId(i));
    if (!target.valid() || of_modules[target.module] != target.instruction) continue;
    if (is_unnamed[target.module]) continue;
    std::string run = RunOf(store, EventId(i));
    is_unnamed[target.module] = run.empty();
    runs[target.module].insert(std::move(run));
  }
  std::vector<int64_t> counts(of_modules.size(), 0);
  for (size_t m = 0; m < counts.size(); ++m) {
    if (!is_unnamed[m]) counts[m] = std::ssize(runs[m]);
  }
  return counts;
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
  for (size_t m = 0; m < modules.size(); ++m) runs[m] = RunsBy(counts[m]);
  std::vector<hlo::InstructionId> usual(modules.size());
  for (const InstructionTime& time : attribution.times()) {
    const uint32_t m = time.target.module;
    const hlo::Instruction& instruction = (*modules[m].module)[time.target.instruction];
    if (once[m][instruction.computation.index] && time.count == runs[m].count)
      usual[m] = time.target.instruction;
  }
  const LaneDevices devices(attribution.store());
  std::vector<std::set<uint32_t>> ran_on(modules.size());
  for (uint32_t i = 0; i < attribution.store().size(); ++i) {
    const Target target = attribution.TargetOf(EventId(i));
    if (!target.valid() || usual[target.module] != target.instruction) continue;
    ran_on[target.module].insert(devices.DeviceOf(attribution.store().LaneOf(EventId(i))));
  }
  const std::vector<int64_t> named = NamedRuns(attribution, usual);
  for (size_t m = 0; m < modules.size(); ++m) {
    if (named[m] > 0) runs[m].count = named[m];
    runs[m].devices = static_cast<int64_t>(ran_on[m].size());
    if (ran[m] && runs[m].count == 0)
      runs[m].count = EventsOfModule(attribution.store(), modules[m].name);
  }
  return runs;
}

}  // namespace hloscope::profiler
