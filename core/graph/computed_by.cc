#include "core/graph/computed_by.h"

#include <algorithm>
#include <unordered_map>
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

// By instruction of a stage: the best way, and the kernels that others lead to.
class Ways {
 public:
  explicit Ways(size_t instructions) : best_(instructions) {}

  void Take(uint32_t at, const Way& way) {
    if (way.kernel == kNoKernel) return;
    Way& best = best_[at];
    const Way lost = best < way ? std::exchange(best, way) : way;
    if (lost.kernel != kNoKernel && lost.kernel != best.kernel) AddOther(at, lost.kernel);
  }
  void TakeAll(uint32_t at, const Ways& further, const analysis::Link& link) {
    Way way = further.best_[link.after.index];
    way.confidence *= link.confidence;
    Take(at, way);
    const auto others = further.others_.find(link.after.index);
    if (others == further.others_.end()) return;
    for (const uint32_t kernel : others->second) Take(at, {.confidence = 0, .kernel = kernel});
  }
  const Way& best(uint32_t at) const { return best_[at]; }
  std::span<const uint32_t> others(uint32_t at) const {
    const auto found = others_.find(at);
    return found == others_.end() ? std::span<const uint32_t>() : found->second;
  }

 private:
  // What is folded into everything tells nothing about a kernel.
  static constexpr size_t kMaxOthers = 64;

  void AddOther(uint32_t at, uint32_t kernel) {
    std::vector<uint32_t>& others = others_[at];
    if (others.size() < kMaxOthers && std::ranges::find(others, kernel) == others.end())
      others.push_back(kernel);
  }

  std::vector<Way> best_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> others_;
};

}  // namespace

KernelUses UsesOf(const Module& compiled, const KernelMap& map,
                  std::span<const InstructionId> instructions) {
  UseFinder finder(compiled, map);
  for (const InstructionId id : instructions) finder.Add(id);
  return finder.Take();
}

OperationsOfKernels::OperationsOfKernels(const std::vector<uint32_t>& first,
                                         std::span<const KernelsOfEach::Other> others,
                                         size_t kernels)
    : of_(kernels) {
  for (uint32_t i = 0; i < first.size(); ++i) {
    if (first[i] != kNoKernel) of_[first[i]].emplace_back(i);
  }
  for (const KernelsOfEach::Other& other : others) of_[other.kernel].push_back(other.instruction);
  if (others.empty()) return;
  for (std::vector<InstructionId>& each : of_) std::ranges::sort(each, {}, &InstructionId::index);
}

Result<KernelsOfEach> KernelOfEach(const analysis::Lineage& lineage, int32_t stage,
                                   int32_t final_stage, const KernelMap& map) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto compiled, lineage.Module(final_stage));
  Ways computed(compiled->instructions().size()), same(compiled->instructions().size());
  for (uint32_t i = 0; i < compiled->instructions().size(); ++i) {
    const InstructionId id(i);
    if (!IsMember(*compiled, map, id)) continue;
    const bool names = hlo::HasTrait((*compiled)[id].opcode, hlo::kTraitNoCode);
    (names ? same : computed).Take(i, {.confidence = 1, .kernel = map.kernel_of[i]});
  }
  size_t count = compiled->instructions().size();
  for (int32_t at = final_stage; at > stage;) {
    const int32_t before = lineage.Neighbour(at, -1);
    if (before < 0) break;
    HLOSCOPE_ASSIGN_OR_RETURN(const auto module, lineage.Module(before));
    HLOSCOPE_ASSIGN_OR_RETURN(const auto links, lineage.Step(before));
    count = module->instructions().size();
    Ways earlier_computed(count), earlier_same(count);
    for (const analysis::Link& link : links->links()) {
      if (!Computes(link.reason)) continue;
      earlier_computed.TakeAll(link.before.index, computed, link);
      if (IsIdentity(link.reason)) earlier_same.TakeAll(link.before.index, same, link);
    }
    computed = std::move(earlier_computed);
    same = std::move(earlier_same);
    at = before;
  }
  KernelsOfEach found;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t first = std::max(computed.best(i), same.best(i)).kernel;
    found.first.push_back(first);
    std::vector<uint32_t> others = {computed.best(i).kernel, same.best(i).kernel};
    for (const Ways* ways : {&computed, &same})
      others.insert(others.end(), ways->others(i).begin(), ways->others(i).end());
    std::ranges::sort(others);
    others.erase(std::ranges::unique(others).begin(), others.end());
    for (const uint32_t kernel : others) {
      if (kernel != kNoKernel && kernel != first)
        found.others.push_back({.instruction = InstructionId(i), .kernel = kernel});
    }
  }
  return found;
}

}  // namespace hloscope::graph
