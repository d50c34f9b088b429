// Joining the lineage of instructions with the tables of a dump, by the names of the final stage.
#include "core/analysis/align/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "core/analysis/align/fingerprint.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;
using hlo::Module;

constexpr size_t kMaxCallers = 64;

template <typename Position>
const std::vector<int32_t>* FindIn(const Position& positions, std::string_view name) {
  auto at = positions.find(std::string(name));
  return at == positions.end() ? nullptr : &at->second;
}

// Its fingerprint counts values of constants only as far as this.
bool HasLargeConstants(const Module& module, const hlo::Instruction& fusion) {
  constexpr int64_t kMaxCounted = 10;
  for (const hlo::ComputationId callee : module.CalledComputations(fusion)) {
    for (const hlo::Instruction& inside : module.instructions(module[callee])) {
      if (inside.opcode != hlo::Opcode::kConstant) continue;
      const auto count = module[inside.shape].ElementCount();
      if (!count || *count > kMaxCounted) return true;
    }
  }
  return false;
}

// What took its place counts as much as the best of them. Of what only names a value (a bitcast),
// that which is the instruction itself.
std::vector<LineageStep> ComputingSteps(const Module& final, int32_t stage, const Chain& chain) {
  constexpr float kAsGood = 0.75f;
  std::vector<LineageStep> steps;
  for (const LineageStep& s : chain.steps) {
    if (s.stage != stage || !s.computes) continue;
    const bool names = hlo::HasTrait(final[s.instruction].opcode, hlo::kTraitNoCode);
    if (s.is_same || !names) steps.push_back(s);
  }
  if (steps.empty()) return steps;
  const float enough = std::ranges::max(steps, {}, &LineageStep::confidence).confidence * kAsGood;
  std::erase_if(steps, [&](const LineageStep& s) { return s.confidence < enough; });
  return steps;
}

// The instructions that apply the computation around `id` to elements: reductions, sorts, scatters;
// empty where it runs on whole values.
std::vector<InstructionId> AppliersOf(const Module& module, InstructionId id) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  std::vector<InstructionId> found;
  std::vector<hlo::ComputationId> open = {module[id].computation};
  std::unordered_set<hlo::ComputationId> seen(open.begin(), open.end());
  while (!open.empty()) {
    const hlo::ComputationId computation = open.back();
    open.pop_back();
    for (const InstructionId caller : calls.callers(computation)) {
      const hlo::ComputationId outer = module[caller].computation;
      if (hlo::HasTrait(module[caller].opcode, hlo::kTraitAppliesScalar)) {
        found.push_back(caller);
      } else if (module[caller].opcode == hlo::Opcode::kCall && seen.insert(outer).second) {
        open.push_back(outer);
      }
    }
  }
  return found;
}

}  // namespace

Provenance::Provenance(std::shared_ptr<const dump::DumpModel> model, int32_t module)
    : model_(std::move(model)),
      module_(module),
      noted_(std::make_shared<NotedStages>(model_, module)),
      lineage_(
          static_cast<int32_t>(model_->modules()[static_cast<size_t>(module)].stages.size()),
          [model = model_, module](int32_t stage) { return model->Module(module, stage); },
          std::bind_front(&NotedStages::Between, noted_)) {}

Result<InstructionFacts> Provenance::FactsOf(int32_t stage, InstructionId id) const {
  InstructionFacts facts;
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Module> module, lineage_.Module(stage));
  HLOSCOPE_ASSIGN_OR_RETURN(facts.ancestors, lineage_.Ancestors(stage, id));
  HLOSCOPE_ASSIGN_OR_RETURN(facts.descendants, lineage_.Descendants(stage, id));
  HLOSCOPE_ASSIGN_OR_RETURN(facts.source, lineage_.Source(stage, id));
  InstructionId kernel = KernelInstructions(*module)[id.index];
  if (kernel != id) facts.fusion = kernel;
  facts.notes = notes();
  int32_t last = final_stage();
  if (last < 0) return facts;
  Result<std::shared_ptr<const Module>> final = lineage_.Module(last);
  if (!final) {
    facts.notes.push_back(final.error().ToString());
    return facts;
  }
  facts.compiled = ComputingSteps(**final, last, facts.descendants);
  std::vector<LineageStep> own = facts.compiled;  // in whose buffers its value is
  HLOSCOPE_TRY(FollowAppliers(*module, **final, stage, id, facts, own));
  if (facts.compiled.empty()) return facts;
  Result<const Tables*> tables = GetTables();
  if (!tables) {
    facts.notes.push_back(tables.error().ToString());
    return facts;
  }
  facts.notes.insert(facts.notes.end(), (*tables)->notes.begin(), (*tables)->notes.end());
  for (const LineageStep& s : facts.compiled) AddCode(**tables, **final, s.instruction, facts);
  for (const LineageStep& s : own)
    AddNearest((*tables)->buffers, **final, s.instruction, facts.buffers);
  return facts;
}

// A pass may let several reductions apply one computation, and later ones may copy it again: what
// computes it is what computes the reductions that apply it in its own stage.
Result<void> Provenance::FollowAppliers(const Module& module, const Module& final, int32_t stage,
                                        InstructionId id, InstructionFacts& facts,
                                        std::vector<LineageStep>& own) const {
  std::vector<InstructionId> appliers = AppliersOf(module, id);
  if (appliers.empty()) return {};
  if (appliers.size() > kMaxCallers) {
    facts.notes.push_back(fmt::format("applied by {} instructions, of which {} are followed",
                                      appliers.size(), kMaxCallers));
    appliers.resize(kMaxCallers);
  }
  std::vector<LineageStep> theirs;
  std::unordered_set<InstructionId> known;
  const auto add = [&](const LineageStep& step) {
    if (known.insert(step.instruction).second) theirs.push_back(step);
  };
  for (const InstructionId applier : appliers) {
    HLOSCOPE_ASSIGN_OR_RETURN(const Chain chain, lineage_.Descendants(stage, applier));
    std::ranges::for_each(ComputingSteps(final, final_stage(), chain), add);
  }
  // What another applies is not its own; what nothing applies came from where it is called.
  std::unordered_map<hlo::ComputationId, bool> is_own;
  std::erase_if(own, [&](const LineageStep& step) {
    const auto [at, is_new] = is_own.try_emplace(final[step.instruction].computation, true);
    if (is_new) {
      const std::vector<InstructionId> theirs_now = AppliersOf(final, step.instruction);
      at->second = theirs_now.empty() ||
                   std::ranges::any_of(
                       theirs_now, [&](InstructionId applier) { return known.contains(applier); });
    }
    return !at->second;
  });
  if (hlo::HasTrait(module[id].opcode, hlo::kTraitNoCode)) {
    facts.compiled = own;
    return {};
  }
  for (const LineageStep& step : own) {
    if (AppliersOf(final, step.instruction).empty()) add(step);
  }
  facts.compiled = std::move(theirs);
  return {};
}

// What the table has of the nearest caller that is in it.
void Provenance::AddNearest(const Positions& positions, const Module& final, InstructionId id,
                            std::vector<int32_t>& into) {
  for (size_t steps = 0; id.valid() && steps < kMaxCallers; ++steps) {
    if (const auto* found = FindIn(positions, final.name(id))) {
      for (int32_t k : *found) {
        if (std::ranges::find(into, k) == into.end()) into.push_back(k);
      }
      return;
    }
    id = hlo::CallGraphOf(final).FirstCaller(final[id].computation);
  }
}

// A parameter has a buffer alone.
void Provenance::AddCode(const Tables& tables, const Module& final, InstructionId id,
                         InstructionFacts& facts) {
  if (final[id].opcode == hlo::Opcode::kParameter) return;
  AddNearest(tables.kernels, final, id, facts.kernels);
  AddNearest(tables.thunks, final, id, facts.thunks);
}

Result<const Provenance::Tables*> Provenance::GetTables() const {
  HLOSCOPE_ASSIGN_OR_RETURN(auto lookup, model_->Lookup(module_));
  std::lock_guard lock(mutex_);
  if (!tables_) tables_ = std::make_unique<const Tables>(ReadTables(std::move(lookup)));
  return tables_.get();
}

Provenance::Tables Provenance::ReadTables(
    std::shared_ptr<const dump::InstructionLookup> lookup) const {
  Tables tables;
  tables.lookup = std::move(lookup);
  auto kernels = model_->Kernels(module_);
  if (!kernels) tables.notes.push_back(kernels.error().ToString());
  for (size_t k = 0; kernels && k < (*kernels)->kernels.size(); ++k) {
    for (const std::string& name : (*kernels)->kernels[k].instructions) {
      tables.kernels[name].push_back(static_cast<int32_t>(k));
    }
  }
  if (!tables.kernels.empty()) AddEqualFusions(tables.lookup->module(), tables);
  auto thunks = model_->Thunks(module_);
  if (!thunks) tables.notes.push_back(thunks.error().ToString());
  for (size_t k = 0; thunks && k < (*thunks)->thunks.size(); ++k) {
    const std::string& name = (*thunks)->thunks[k].instruction;
    if (!name.empty()) tables.thunks[name].push_back(static_cast<int32_t>(k));
  }
  auto buffers = model_->Buffers(module_);
  if (!buffers) tables.notes.push_back(buffers.error().ToString());
  for (size_t k = 0; buffers && k < (*buffers)->values.size(); ++k) {
    const std::string& name = (*buffers)->values[k].instruction;
    if (!name.empty()) tables.buffers[name].push_back(static_cast<int32_t>(k));
  }
  return tables;
}

void Provenance::AddEqualFusions(const Module& final, Tables& tables) {
  const Fingerprints prints = Fingerprint(final);
  std::unordered_map<uint64_t, const std::vector<int32_t>*> compiled;
  std::vector<InstructionId> left;
  for (uint32_t i = 0; i < final.instructions().size(); ++i) {
    const InstructionId id(i);
    if (final[id].opcode != hlo::Opcode::kFusion) continue;
    if (const auto* kernels = FindIn(tables.kernels, final.name(id))) {
      compiled.try_emplace(prints.local[i], kernels);
    } else if (!HasLargeConstants(final, final[id])) {
      left.push_back(id);
    }
  }
  for (const InstructionId id : left) {
    const auto equal = compiled.find(prints.local[id.index]);
    if (equal == compiled.end()) continue;
    const std::vector<int32_t> kernels = *equal->second;
    for (const int32_t kernel : kernels) {
      tables.equal_fusions[kernel].emplace_back(final.name(id));
    }
    tables.kernels.emplace(final.name(id), kernels);
  }
}

Result<std::vector<InstructionId>> Provenance::Inside(const std::vector<std::string>& names) const {
  HLOSCOPE_ASSIGN_OR_RETURN(const Tables* tables, GetTables());
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Module> final, lineage_.Module(final_stage()));
  std::vector<bool> wanted(final->instructions().size(), false);
  for (const std::string& name : names) {
    InstructionId id = tables->lookup->ByName(name);
    if (id.valid()) wanted[id.index] = true;
  }
  std::vector<InstructionId> kernels = KernelInstructions(*final), found;
  for (uint32_t id = 0; id < wanted.size(); ++id) {
    if (wanted[id] || wanted[kernels[id].index]) found.emplace_back(id);
  }
  return found;
}

Result<std::vector<InstructionId>> Provenance::OfKernel(int32_t kernel) const {
  HLOSCOPE_ASSIGN_OR_RETURN(auto table, model_->Kernels(module_));
  if (kernel < 0 || static_cast<size_t>(kernel) >= table->kernels.size()) {
    return InputError("no such kernel");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Tables* tables, GetTables());
  std::vector<std::string> names = table->kernels[static_cast<size_t>(kernel)].instructions;
  if (const auto equal = tables->equal_fusions.find(kernel); equal != tables->equal_fusions.end()) {
    names.insert(names.end(), equal->second.begin(), equal->second.end());
  }
  return Inside(names);
}

Result<std::vector<InstructionId>> Provenance::OfThunk(int32_t thunk) const {
  HLOSCOPE_ASSIGN_OR_RETURN(auto sequence, model_->Thunks(module_));
  if (thunk < 0 || static_cast<size_t>(thunk) >= sequence->thunks.size()) {
    return InputError("no such thunk");
  }
  return Inside({sequence->thunks[static_cast<size_t>(thunk)].instruction});
}

Result<std::vector<InstructionId>> Provenance::OfBuffer(int32_t value) const {
  HLOSCOPE_ASSIGN_OR_RETURN(auto table, model_->Buffers(module_));
  if (value < 0 || static_cast<size_t>(value) >= table->values.size()) {
    return InputError("no such buffer");
  }
  return Inside({table->values[static_cast<size_t>(value)].instruction});
}

Result<std::vector<InstructionId>> Provenance::OfLine(int32_t stage, std::string_view file,
                                                      int32_t line) const {
  return lineage_.OnLine(stage, file, line);
}

}  // namespace hloscope::analysis
