// Capturing all values of an evaluation.
#include "core/debug/explain/passes/value_trace.h"

#include <map>
#include <string_view>
#include <utility>

#include "core/eval/numbers/precise.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::debug {

using hlo::InstructionId;
using hlo::Module;

namespace {

constexpr std::string_view kWidened = "precise.";  // names of what WidenModule adds

// Both ways between a module and its form in double precision.
struct IdMap {
  std::vector<InstructionId> to_run, from_run;  // invalid: what only one of them has
};

Result<IdMap> MapWidened(const Module& module, const Module& wide) {
  IdMap map;
  map.to_run.resize(module.instructions().size());
  map.from_run.resize(wide.instructions().size());
  for (uint32_t c = 0; c < module.computations().size(); ++c) {
    const hlo::Computation& own = module.computations()[c];
    const hlo::Computation& other = wide.computations()[c];
    uint32_t next = 0;
    for (uint32_t i = 0; i < other.instruction_count; ++i) {
      const InstructionId id(other.first_instruction + i);
      if (wide.name(id).starts_with(kWidened)) continue;
      if (next == own.instruction_count) return InternalError("a widened module has more to it");
      const InstructionId original(own.first_instruction + next++);
      map.to_run[original.index] = id;
      map.from_run[id.index] = original;
    }
  }
  return map;
}

IdMap MapSame(const Module& module) {
  IdMap map;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) map.to_run.emplace_back(i);
  map.from_run = map.to_run;
  return map;
}

// Puts captured leaves together, event by event.
class TraceCollector : public replay::RunStream {
 public:
  TraceCollector(const IdMap& map, ValueTrace& trace) : map_(map), trace_(trace) {
    trace.by_instruction.resize(map.to_run.size());
  }

  void Take(replay::RunEvent event) override {
    auto* value = std::get_if<replay::CapturedValue>(&event);
    if (value == nullptr || value->key.instruction.index >= map_.from_run.size()) return;
    const InstructionId id = map_.from_run[value->key.instruction.index];
    if (!id.valid()) return;
    if (value->key.leaf == 0) Begin(id, value->key);
    if (!trace_.events.empty()) trace_.events.back().leaves.push_back(std::move(value->value));
  }

 private:
  void Begin(InstructionId id, const replay::ValueKey& key) {
    TraceEvent event{id, key.device, executions_[{key.device, id.index}]++, {}, {}};
    for (const runtime::Frame& frame : key.path) {
      event.calls.push_back({map_.from_run[frame.caller.index], frame.iteration});
    }
    trace_.by_instruction[id.index].push_back(static_cast<uint32_t>(trace_.events.size()));
    trace_.events.push_back(std::move(event));
  }

  const IdMap& map_;
  ValueTrace& trace_;
  std::map<std::pair<int64_t, uint32_t>, int64_t> executions_;
};

}  // namespace

const TraceEvent* ValueTrace::Find(InstructionId id, int64_t device, int64_t execution) const {
  for (const uint32_t at : by_instruction[id.index]) {
    const TraceEvent& event = events[at];
    if (event.device == device && event.execution == execution) return &event;
  }
  return nullptr;
}

std::vector<InstructionId> TracedInstructions(const Module& module) {
  std::vector<bool> traced(module.computations().size(), false);
  traced[module.entry_id().index] = true;
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  for (const hlo::ComputationId c : graph.callers_first()) {
    if (!traced[c.index]) continue;
    for (const hlo::Call& call : graph.calls(c)) {
      const hlo::Category category = hlo::Info(module[call.caller].opcode).category;
      const bool steps = category == hlo::Category::kControl || category == hlo::Category::kFusion;
      if (steps) traced[call.callee.index] = true;
    }
  }
  std::vector<InstructionId> ids;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::Instruction& instruction = module.instructions()[i];
    if (!traced[instruction.computation.index]) continue;
    if (instruction.opcode != hlo::Opcode::kParameter) ids.emplace_back(i);
  }
  return ids;
}

Result<ValueTrace> TraceValues(const std::shared_ptr<const Module>& module,
                               TracePrecision precision, replay::CaptureForm form,
                               std::span<const InstructionId> wanted, const RunSpec& request,
                               const std::stop_token& stop) {
  std::shared_ptr<const Module> run = module;
  IdMap map;
  if (precision != TracePrecision::kOwn) {
    run =
        eval::WidenModule(*module, precision == TracePrecision::kRounded ? eval::Roundings::kAsked
                                                                         : eval::Roundings::kNone);
    HLOSCOPE_ASSIGN_OR_RETURN(map, MapWidened(*module, *run));
  } else {
    map = MapSame(*module);
  }
  replay::CaptureItem item{replay::CaptureScope::kInstructions, form, {}};
  for (const InstructionId id : wanted) {
    if (map.to_run[id.index].valid()) item.instructions.push_back(map.to_run[id.index]);
  }
  replay::CapturePlan plan;
  plan.results = replay::CaptureForm::kNone;
  plan.items.push_back(std::move(item));
  ValueTrace trace;
  TraceCollector collector(map, trace);
  HLOSCOPE_TRY(RunCapturing(run, request, plan, collector, stop));
  return trace;
}

}  // namespace hloscope::debug
