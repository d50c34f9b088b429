// One entry for each name, filled recording by recording.
#include "profiler/compared_items.h"

#include <algorithm>
#include <map>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/source_line.h"
#include "profiler/category_times.h"
#include "profiler/module_runs.h"
#include "profiler/saturating_add.h"
#include "profiler/typical_times.h"

namespace hloscope::profiler {
namespace {

// The outermost fusion that the instruction is, or is a part of.
std::string FusionOf(const hlo::Module& module, hlo::InstructionId id) {
  hlo::InstructionId fusion;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  const size_t deepest = module.computations().size();
  for (size_t depth = 0; id.valid() && depth <= deepest; ++depth) {
    if (module[id].opcode == hlo::Opcode::kFusion) fusion = id;
    id = calls.OnlyCaller(module[id].computation);
  }
  return fusion.valid() ? std::string(module.name(fusion)) : std::string();
}

// Two programs of one name are one item: what is typical is that of both, by how often they ran.
void Add(const InstructionTime& time, const Estimate& typical, bool has_typical,
         RecordedItem& item) {
  if (has_typical) {
    const double share = !item.has_typical ? 1
                                           : static_cast<double>(time.count) /
                                                 static_cast<double>(time.count + item.count);
    const double rest = 1 - share;
    item.typical.value = share * typical.value + rest * item.typical.value;
    item.typical.variance = share * share * typical.variance + rest * rest * item.typical.variance;
    item.typical.freedom =
        item.has_typical ? std::min(typical.freedom, item.typical.freedom) : typical.freedom;
    item.has_typical = true;
  }
  item.count = SaturatingAdd(item.count, time.count);
  item.self = SaturatingAdd(item.self, time.self);
}

// Those of `name` in all the recordings.
ItemModule RunsOf(const std::string& name, std::span<const ComparedRecording> recordings,
                  const std::vector<std::vector<ModuleRuns>>& runs) {
  ItemModule module{name, std::vector<ModuleRuns>(recordings.size()), {}};
  for (size_t r = 0; r < recordings.size(); ++r) {
    const auto& modules = recordings[r].attribution->modules();
    for (size_t m = 0; m < modules.size(); ++m) {
      if (modules[m].name != name || !recordings[r].Counts(modules[m])) continue;
      module.recordings[r].count = SaturatingAdd(module.recordings[r].count, runs[r][m].count);
      module.recordings[r].is_cut |= runs[r][m].is_cut;
    }
  }
  double first = 0;
  for (const ModuleRuns& ran : module.recordings) {
    const auto count = static_cast<double>(ran.count);
    if (first == 0) first = count;
    module.scales.push_back(count > 0 ? count / first : 1);
  }
  return module;
}

}  // namespace

Result<ComparedItems> FindItems(std::span<const ComparedRecording> recordings, Jobs& jobs,
                                const std::stop_token& stop) {
  std::map<std::pair<std::string, std::string>, ComparedItem> by_name;
  std::vector<std::vector<ModuleRuns>> runs;
  for (size_t r = 0; r < recordings.size(); ++r) {
    const Attribution& attribution = *recordings[r].attribution;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto typical, TypicalTimes(attribution, jobs, stop));
    runs.push_back(ModuleRunsOf(attribution));
    for (size_t t = 0; t < attribution.times().size(); ++t) {
      const InstructionTime& time = attribution.times()[t];
      const AttributedModule& m = attribution.modules()[time.target.module];
      if (!recordings[r].Counts(m)) continue;
      const hlo::InstructionId id = time.target.instruction;
      const std::string name(m.module->name(id));
      auto [entry, is_new] = by_name.try_emplace({m.name, name});
      ComparedItem& item = entry->second;
      if (is_new) {
        item = {.instruction = name,
                .opcode = std::string(hlo::ToString((*m.module)[id].opcode)),
                .fusion = FusionOf(*m.module, id),
                .category = CategoryOf(*m.module, id),
                .source_line = ToString(hlo::SourceLineOf(*m.module, id)),
                .recordings = std::vector<RecordedItem>(recordings.size())};
      }
      const bool has_typical = typical[t].variance > 0;
      Add(time, typical[t], has_typical, item.recordings[r]);
    }
  }
  ComparedItems out;
  out.items.reserve(by_name.size());
  for (auto& [name, item] : by_name) {
    if (out.modules.empty() || out.modules.back().name != name.first)
      out.modules.push_back(RunsOf(name.first, recordings, runs));
    item.module = out.modules.size() - 1;
    out.items.push_back(std::move(item));
  }
  return out;
}

}  // namespace hloscope::profiler
