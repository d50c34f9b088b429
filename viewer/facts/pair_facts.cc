// Kernels by the operations that they run, stages by the pass that wrote them, memory by its use.
#include "viewer/facts/pair_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/analysis/align/compare_modules.h"
#include "core/analysis/align/fingerprint.h"
#include "core/analysis/place/call_counts.h"
#include "core/base/jobs.h"
#include "core/base/quick_hash.h"
#include "core/graph/overview.h"
#include "core/hlo/analysis/summary.h"
#include "core/hlo/string_pool.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/model/document.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

template <typename T>
struct PairKey {
  using Value = T;
  int32_t first = -1, second = -1;
  auto operator<=>(const PairKey&) const = default;
};

using BothModules = std::array<graph::ModuleOfDump, 2>;

template <typename T>
const Pending<T>& Get(Context& context, const ModulePair& pair, const char* title,
                      Computed<T> (*find)(const BothModules&, TaskControl&)) {
  const BothModules both = {graph::ModuleOfDump{context.document.dump().value, pair.modules[0]},
                            graph::ModuleOfDump{context.second.dump().value, pair.modules[1]}};
  return context.second.cache().Get(
      PairKey<T>{pair.modules[0], pair.modules[1]}, title,
      [both, find](TaskControl& control) { return find(both, control); });
}

// --- Kernels

// One of the two compiled modules.
struct KernelSide {
  const hlo::Module& module;
  const graph::KernelMap& map;
  std::vector<uint64_t> prints;  // by kernel: what it does, and on which shapes
  analysis::CallCounts calls;

  KernelSide(const hlo::Module& of, const graph::CompiledSide& side,
             const analysis::FingerprintOptions& options)
      : module(of), map(side.map), calls(analysis::CountCalls(of)) {
    const std::vector<uint64_t> local = analysis::Fingerprint(of, options).local;
    for (const graph::KernelMap::Kernel& kernel : map.kernels) {
      uint64_t print = local[kernel.instruction.index];
      for (const hlo::InstructionId operand : of.operands(of[kernel.instruction]))
        print = MixKeys(print, hlo::HashBytes(hlo::ToString(of.shape(operand))));
      prints.push_back(print);
    }
  }

  std::string Names(const std::vector<uint32_t>& kernels) const {
    if (kernels.empty()) return {};
    const std::string first(module.name(map.kernels[kernels[0]].instruction));
    return kernels.size() == 1 ? first : fmt::format("{} and {} more", first, kernels.size() - 1);
  }
  int64_t Launches(const std::vector<uint32_t>& kernels) const {
    int64_t sum = 0;
    for (const uint32_t k : kernels) {
      const auto computation = module[map.kernels[k].instruction].computation;
      const int64_t runs = calls.executions[computation.index];
      if (runs < 0) return -1;
      sum += runs;
    }
    return sum;
  }
  std::vector<uint64_t> Prints(const std::vector<uint32_t>& kernels) const {
    std::vector<uint64_t> out;
    for (const uint32_t k : kernels) out.push_back(prints[k]);
    std::ranges::sort(out);
    return out;
  }
};

KernelPairRow RowOf(const graph::FusionGroup& group, const KernelSide& a, const KernelSide& b) {
  KernelPairRow row;
  row.names = {a.Names(group.kernels_a), b.Names(group.kernels_b)};
  row.launches = {a.Launches(group.kernels_a), b.Launches(group.kernels_b)};
  row.bytes = {group.a.bytes(), group.b.bytes()};
  row.operations = std::ssize(group.operations);
  if (!group.kernels_a.empty()) row.first[0] = a.map.kernels[group.kernels_a[0]].instruction;
  if (!group.kernels_b.empty()) row.first[1] = b.map.kernels[group.kernels_b[0]].instruction;
  if (group.kernels_a.empty()) {
    row.change = KernelChange::kAdded;
  } else if (group.kernels_b.empty()) {
    row.change = KernelChange::kRemoved;
  } else if (a.Prints(group.kernels_a) != b.Prints(group.kernels_b)) {
    row.change = KernelChange::kChanged;
  }
  return row;
}

Computed<PairKernels> FindKernels(const BothModules& both, TaskControl& /*control*/) {
  HLOSCOPE_ASSIGN_OR_RETURN(const graph::CompilationPair pair,
                            graph::CompareCompilations(both[0], both[1]));
  const auto& [of_a, of_b, groups] = pair.comparison;
  analysis::FingerprintOptions options;
  bool has_elided = false;
  for (const auto& module : {pair.compiled_a, pair.compiled_b}) {
    has_elided |= !hlo::ElidedConstants(*module).empty();
    options.element_attributes &= !analysis::HasCompactOperands(*module);
  }
  if (!has_elided) options.constants = analysis::ConstantValues::kAll;
  const KernelSide a(*pair.compiled_a, of_a, options), b(*pair.compiled_b, of_b, options);
  auto out = std::make_shared<PairKernels>();
  out->lanes = {graph::CountLanes(of_a.map), graph::CountLanes(of_b.map)};
  out->all = {of_a.all, of_b.all};
  for (const graph::FusionGroup& group : groups) {
    out->rows.push_back(RowOf(group, a, b));
    ++out->counts[static_cast<size_t>(out->rows.back().change)];
  }
  std::ranges::stable_sort(out->rows, {}, [](const KernelPairRow& row) {
    return std::tuple(row.change, -std::abs(row.bytes[0] - row.bytes[1]));
  });
  return out;
}

// --- Passes

// What tells a stage apart in either dump: its pass and how often that ran before.
using StageKey = std::tuple<std::string, std::string, int>;
std::vector<StageKey> KeysOf(const dump::ModuleEntry& entry) {
  std::map<std::pair<std::string, std::string>, int> seen;
  std::vector<StageKey> keys;
  for (const dump::StageEntry& stage : entry.stages) {
    // The names of the ends have the target in them.
    const dump::StagePhase phase = dump::PhaseOf(stage.name);
    const std::string name = !stage.pass.empty()                 ? stage.pass
                             : phase == dump::StagePhase::kInput ? "as given"
                             : phase == dump::StagePhase::kFinal ? "as compiled"
                                                                 : stage.name;
    keys.emplace_back(stage.pipeline, name, seen[{stage.pipeline, name}]++);
  }
  return keys;
}

std::vector<PassPairRow> PairStages(const dump::ModuleEntry& a, const dump::ModuleEntry& b) {
  const std::vector<StageKey> keys_a = KeysOf(a), keys_b = KeysOf(b);
  std::map<StageKey, int32_t> at_b;
  for (size_t s = 0; s < keys_b.size(); ++s) at_b[keys_b[s]] = static_cast<int32_t>(s);
  const std::map<StageKey, bool> in_a = [&] {
    std::map<StageKey, bool> out;
    for (const StageKey& key : keys_a) out[key] = true;
    return out;
  }();
  std::vector<PassPairRow> rows;
  const auto add = [&](const StageKey& key, int32_t stage_a, int32_t stage_b) {
    const auto& [pipeline, pass, number] = key;
    const dump::ModuleEntry& entry = stage_a < 0 ? b : a;
    const int32_t stage = stage_a < 0 ? stage_b : stage_a;
    // At the start of a nested pipeline: what the pass did that runs it.
    const std::string made = IsMadeByPass(entry, stage) ? PassName(entry, stage) : pass;
    rows.push_back(
        {.name = pipeline.empty() ? pass : pipeline + " / " + made, .stages = {stage_a, stage_b}});
  };
  int32_t next_b = 0;  // what the second alone has stands before the next that both have
  const auto add_until = [&](int32_t end) {
    for (; next_b < end; ++next_b) {
      const StageKey& key = keys_b[static_cast<size_t>(next_b)];
      if (!in_a.contains(key)) add(key, -1, next_b);
    }
  };
  for (size_t s = 0; s < keys_a.size(); ++s) {
    const auto found = at_b.find(keys_a[s]);
    if (found != at_b.end()) add_until(found->second);
    add(keys_a[s], static_cast<int32_t>(s), found == at_b.end() ? -1 : found->second);
  }
  add_until(static_cast<int32_t>(keys_b.size()));
  return rows;
}

// Where only one of them has the values of constants, fingerprints tell nothing.
analysis::ProgramVerdict VerdictOf(const BothModules& both, const PassPairRow& row,
                                   const std::array<analysis::StageProgram, 2>& programs) {
  using analysis::ProgramVerdict;
  const ProgramVerdict verdict = analysis::CompareStage({&programs[0], &programs[1]});
  if (verdict != ProgramVerdict::kDiffers ||
      programs[0].program->fingerprint.elided == programs[1].program->fingerprint.elided)
    return verdict;
  const auto a = both[0].dump->ReadModule(both[0].module, row.stages[0]),
             b = both[1].dump->ReadModule(both[1].module, row.stages[1]);
  if (!a || !b) return ProgramVerdict::kUnreadable;
  return analysis::CompareModules(**a, **b).equal ? ProgramVerdict::kElided : verdict;
}

Computed<PairPasses> FindPasses(const BothModules& both, TaskControl& control) {
  const auto entry = [&](size_t d) -> const dump::ModuleEntry& {
    return both[d].dump->modules()[static_cast<size_t>(both[d].module)];
  };
  auto out = std::make_shared<PairPasses>();
  out->rows = PairStages(entry(0), entry(1));
  analysis::ProgramReader reader(both[0].dump->limits());
  const auto read = [&](int64_t i) {
    PassPairRow& row = out->rows[static_cast<size_t>(i)];
    std::array<analysis::StageProgram, 2> programs;
    for (size_t d = 0; d < 2; ++d) {
      if (row.stages[d] < 0) continue;
      const dump::DumpModel& dump = *both[d].dump;
      const auto file = dump.OpenFile(dump.ModuleFile(both[d].module, row.stages[d]));
      if (!file) continue;
      const auto program = reader.Read(*file);
      if (!program) continue;
      programs[d].program = *program;
      row.instructions[d] = program->instructions;
    }
    if (row.stages[0] >= 0 && row.stages[1] >= 0) row.verdict = VerdictOf(both, row, programs);
    control.Progress(i, std::ssize(out->rows));
  };
  HLOSCOPE_TRY(ParallelFor(std::ssize(out->rows), 2, read, control.stop()));
  const auto first =
      std::ranges::find(out->rows, analysis::ProgramVerdict::kDiffers, &PassPairRow::verdict);
  if (first != out->rows.end())
    out->first_difference = static_cast<int32_t>(first - out->rows.begin());
  return out;
}

// --- Memory

Computed<PairMemory> FindMemory(const BothModules& both, TaskControl& /*control*/) {
  auto out = std::make_shared<PairMemory>();
  std::array<std::shared_ptr<const dump::BufferTable>, 2> tables;
  std::map<MemoryUse, std::array<int64_t, 2>> uses;
  for (size_t d = 0; d < 2; ++d) {
    const dump::DumpModel& dump = *both[d].dump;
    HLOSCOPE_ASSIGN_OR_RETURN(tables[d], dump.Buffers(both[d].module));
    if (tables[d]->source == dump::BufferSource::kNone)
      return InputError(dump.path() + ": no buffer assignment of this module in the dump");
    const int32_t last = dump.FinalStage(both[d].module);
    const auto module = last < 0 ? nullptr : dump.Module(both[d].module, last).value_or(nullptr);
    const MemoryPlan plan = PlanOf(*tables[d]);
    out->allocated[d] = tables[d]->total_bytes;
    out->live_peak[d] = plan.peak;
    for (const MemoryGroup& group : GroupsOf(*tables[d], plan, module.get()).groups)
      uses[group.use][d] += group.bytes;
  }
  for (const auto& [use, bytes] : uses) out->uses.push_back({.use = use, .bytes = bytes});
  std::ranges::stable_sort(out->uses, {}, [](const MemoryPairRow& row) {
    return -std::abs(row.bytes[1] - row.bytes[0]);
  });
  out->values = GrowthOf(*tables[1], *tables[0]);
  return out;
}

}  // namespace

std::string_view ToString(KernelChange change) {
  static constexpr std::array<std::string_view, kKernelChanges> kTexts = {"changed", "added",
                                                                          "removed", "same"};
  return kTexts[static_cast<size_t>(change)];
}

const Pending<PairKernels>& PairKernelsOf(Context& context, const ModulePair& pair) {
  return Get<PairKernels>(context, pair, "comparing kernels", FindKernels);
}
const Pending<PairPasses>& PairPassesOf(Context& context, const ModulePair& pair) {
  return Get<PairPasses>(context, pair, "comparing passes", FindPasses);
}
const Pending<PairMemory>& PairMemoryOf(Context& context, const ModulePair& pair) {
  return Get<PairMemory>(context, pair, "comparing memory", FindMemory);
}

}  // namespace hloscope::viewer
