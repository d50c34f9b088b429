#include "core/graph/computed_by.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// It is the kernel, or in a computation that the kernel calls.
bool IsMember(const Module& module, const KernelMap& map, InstructionId id) {
  const uint32_t kernel = map.kernel_of[id.index];
  if (kernel == kNoKernel) return false;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  for (size_t depth = 0; id.valid() && depth <= module.computations().size(); ++depth) {
    if (id == map.kernels[kernel].instruction) return true;
    id = calls.FirstCaller(module[id].computation);
  }
  return false;
}

// Whether the value leaves its computation as the result or a part of it.
bool IsResult(const Module& module, InstructionId id) {
  const InstructionId root = module[module[id].computation].root;
  return id == root || (module[root].opcode == Opcode::kTuple &&
                        std::ranges::count(module.operands(root), id) > 0);
}

class UseFinder {
 public:
  UseFinder(const Module& module, const KernelMap& map) : module_(module), map_(map) {}

  void Add(InstructionId id) {
    if (IsMember(module_, map_, id)) {
      const uint32_t kernel = map_.kernel_of[id.index];
      uses_.computed_by.push_back(kernel);
      const InstructionId outer = map_.kernels[kernel].instruction;
      for (size_t depth = 0; id != outer && depth <= module_.computations().size(); ++depth) {
        if (!IsResult(module_, id)) return;
        id = hlo::CallGraphOf(module_).FirstCaller(module_[id].computation);
      }
    }
    AddReaders(id);
  }

  KernelUses Take() {
    for (std::vector<uint32_t>* list : {&uses_.computed_by, &uses_.read_by}) {
      std::ranges::sort(*list);
      list->erase(std::ranges::unique(*list).begin(), list->end());
    }
    // Of several instructions one may read another: it computes.
    std::erase_if(uses_.read_by,
                  [&](uint32_t k) { return std::ranges::binary_search(uses_.computed_by, k); });
    return std::move(uses_);
  }

 private:
  void AddReaders(InstructionId value) {
    std::vector<InstructionId> names = {value};
    std::unordered_set<InstructionId> seen;
    while (!names.empty()) {
      const InstructionId name = names.back();
      names.pop_back();
      for (const InstructionId user : hlo::UsersOf(module_).users(name)) {
        if (!seen.insert(user).second) continue;
        if (IsMember(module_, map_, user)) {
          uses_.read_by.push_back(map_.kernel_of[user.index]);
        } else if (hlo::HasTrait(module_[user].opcode, hlo::kTraitNoCode)) {
          names.push_back(user);
        }
      }
    }
  }

  const Module& module_;
  const KernelMap& map_;
  KernelUses uses_;
};

// The best way from an instruction to a kernel: to one that computes its value, and to one that
// holds it unchanged, which may be a bitcast.
struct Way {
  float confidence = 0;
  uint32_t kernel = kNoKernel;
  bool operator<(const Way& other) const { return confidence < other.confidence; }
};
struct Ways {
  Way computed, same;
};

// Reductions may share a computation in a later stage that each has of its own here: what is in it
// is part of the one that applies it.
void TakeKernelsOfAppliers(const Module& module, std::vector<uint32_t>& kernel_of) {
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  for (const hlo::ComputationId c : calls.callers_first()) {
    const InstructionId caller = calls.OnlyCaller(c);
    if (!caller.valid() || !hlo::HasTrait(module[caller].opcode, hlo::kTraitAppliesScalar))
      continue;
    const hlo::Computation& applied = module[c];
    for (uint32_t k = 0; k < applied.instruction_count; ++k) {
      const InstructionId id(applied.first_instruction + k);
      if (!hlo::HasTrait(module[id].opcode, hlo::kTraitNoCode))
        kernel_of[id.index] = kernel_of[caller.index];
    }
  }
}

}  // namespace

KernelUses UsesOf(const Module& compiled, const KernelMap& map,
                  std::span<const InstructionId> instructions) {
  UseFinder finder(compiled, map);
  for (const InstructionId id : instructions) finder.Add(id);
  return finder.Take();
}

Result<std::vector<uint32_t>> KernelOfEach(const analysis::Lineage& lineage, int32_t stage,
                                           int32_t final_stage, const KernelMap& map) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto compiled, lineage.Module(final_stage));
  std::vector<Ways> ways(compiled->instructions().size());
  for (uint32_t i = 0; i < ways.size(); ++i) {
    const InstructionId id(i);
    if (!IsMember(*compiled, map, id)) continue;
    const bool names = hlo::HasTrait((*compiled)[id].opcode, hlo::kTraitNoCode);
    (names ? ways[i].same : ways[i].computed) = {.confidence = 1, .kernel = map.kernel_of[i]};
  }
  for (int32_t at = final_stage; at > stage;) {
    const int32_t before = lineage.Neighbour(at, -1);
    if (before < 0) break;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto module, lineage.Module(before));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto links, lineage.Step(before));
    std::vector<Ways> earlier(module->instructions().size());
    for (const analysis::Link& link : links->links()) {
      if (!Computes(link.reason)) continue;
      const auto take = [&](Way& mine, Way further) {
        further.confidence *= link.confidence;
        if (mine < further) mine = further;
      };
      take(earlier[link.before.index].computed, ways[link.after.index].computed);
      if (IsIdentity(link.reason))
        take(earlier[link.before.index].same, ways[link.after.index].same);
    }
    ways = std::move(earlier);
    at = before;
  }
  std::vector<uint32_t> kernel_of;
  for (const Ways& each : ways) kernel_of.push_back(std::max(each.computed, each.same).kernel);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto first, lineage.Module(stage));
  TakeKernelsOfAppliers(*first, kernel_of);
  return kernel_of;
}

}  // namespace hloscope::graph
