// Kernels of both sides are put together where an operation is in one of each.
#include "core/graph/fusion_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "core/analysis/align/fingerprint.h"
#include "core/base/quick_hash.h"
#include "core/base/sets/union_find.h"
#include "core/hlo/string_pool.h"

namespace hloscope::graph {
namespace {

// Kernels without an operation of the given module, such as copies that the compiler added, belong
// together where they do the same, and then where they have one name.
class KernelPairs {
 public:
  KernelPairs(const hlo::Module& a, const KernelMap& map_a, const hlo::Module& b,
              const KernelMap& map_b)
      : a_{a, map_a, analysis::Fingerprint(a).local},
        b_{b, map_b, analysis::Fingerprint(b).local} {}

  // `join` gets the positions of two kernels.
  template <typename Join>
  void Run(std::vector<uint32_t> left_a, std::vector<uint32_t> left_b, Join join) const {
    const auto print = [](const Side& side, hlo::InstructionId id) {
      return side.prints[id.index];
    };
    const auto name = [](const Side& side, hlo::InstructionId id) {
      return hlo::HashBytes(side.module.name(id));
    };
    const auto both = [&](const Side& side, hlo::InstructionId id) {
      return MixKeys(print(side, id), name(side, id));
    };
    Match(left_a, left_b, both, join);
    Match(left_a, left_b, print, join);
    Match(left_a, left_b, name, join);
  }

 private:
  struct Side {
    const hlo::Module& module;
    const KernelMap& map;
    std::vector<uint64_t> prints;
  };

  template <typename Key, typename Join>
  void Match(std::vector<uint32_t>& left_a, std::vector<uint32_t>& left_b, Key key,
             Join join) const {
    const auto key_of = [&](const Side& side, uint32_t kernel) {
      return key(side, side.map.kernels[kernel].instruction);
    };
    std::unordered_map<uint64_t, std::vector<uint32_t>> by_key;  // of b, the first one last
    for (const uint32_t k : left_b | std::views::reverse) by_key[key_of(b_, k)].push_back(k);
    std::unordered_set<uint32_t> joined;
    std::erase_if(left_a, [&](uint32_t k) {
      const auto at = by_key.find(key_of(a_, k));
      if (at == by_key.end() || at->second.empty()) return false;
      join(k, at->second.back());
      joined.insert(at->second.back());
      at->second.pop_back();
      return true;
    });
    std::erase_if(left_b, [&](uint32_t k) { return joined.contains(k); });
  }

  Side a_, b_;
};

// The kernels that no operation of the given module is in.
std::vector<uint32_t> WithoutOperations(const hlo::Module& given, size_t kernels,
                                        const std::vector<uint32_t>& kernel_of) {
  std::vector<bool> has_operation(kernels);
  for (uint32_t i = 0; i < given.instructions().size(); ++i) {
    if (kernel_of[i] != kNoKernel && IsOperation(given, hlo::InstructionId(i)))
      has_operation[kernel_of[i]] = true;
  }
  std::vector<uint32_t> without;
  for (uint32_t k = 0; k < kernels; ++k) {
    if (!has_operation[k]) without.push_back(k);
  }
  return without;
}

}  // namespace

CompiledSide MakeCompiledSide(const hlo::Module& compiled, const analysis::Placement& placement) {
  CompiledSide side{.map = MapKernels(compiled, placement), .traffic = {}, .all = {}};
  for (const KernelWork& work : WorkOf(compiled, side.map)) {
    side.counted_once += work.is_counted_once ? 1 : 0;
    side.traffic.push_back(work.traffic);
    side.all += work.traffic;
  }
  return side;
}

FusionComparison CompareFusion(const hlo::Module& given, const CompiledModule& a,
                               const CompiledModule& b) {
  FusionComparison out{.a = MakeCompiledSide(a.module, a.placement),
                       .b = MakeCompiledSide(b.module, b.placement),
                       .groups = {}};
  const auto in_a = MapOperations(given, a.links, out.a.map);
  const auto in_b = MapOperations(given, b.links, out.b.map);
  const auto count_a = static_cast<uint32_t>(out.a.map.kernels.size());
  const auto count_b = static_cast<uint32_t>(out.b.map.kernels.size());
  UnionFind sets(count_a + count_b);
  for (uint32_t i = 0; i < given.instructions().size(); ++i) {
    const bool is_both = in_a[i] != kNoKernel && in_b[i] != kNoKernel;
    if (is_both && IsOperation(given, hlo::InstructionId(i))) sets.Join(in_a[i], count_a + in_b[i]);
  }
  KernelPairs(a.module, out.a.map, b.module, out.b.map)
      .Run(WithoutOperations(given, count_a, in_a), WithoutOperations(given, count_b, in_b),
           [&](uint32_t x, uint32_t y) { sets.Join(x, count_a + y); });
  std::map<uint32_t, FusionGroup> groups;
  for (uint32_t k = 0; k < count_a; ++k) {
    FusionGroup& group = groups[sets.Find(k)];
    group.kernels_a.push_back(k);
    group.a += out.a.traffic[k];
  }
  for (uint32_t k = 0; k < count_b; ++k) {
    FusionGroup& group = groups[sets.Find(count_a + k)];
    group.kernels_b.push_back(k);
    group.b += out.b.traffic[k];
  }
  for (uint32_t i = 0; i < given.instructions().size(); ++i) {
    if (!IsOperation(given, hlo::InstructionId(i))) continue;
    const uint32_t member = in_a[i] != kNoKernel   ? in_a[i]
                            : in_b[i] != kNoKernel ? count_a + in_b[i]
                                                   : kNoKernel;
    if (member != kNoKernel) groups[sets.Find(member)].operations.emplace_back(i);
  }
  for (auto& [root, group] : groups) out.groups.push_back(std::move(group));
  std::ranges::stable_sort(out.groups, std::greater(), [](const FusionGroup& group) {
    return std::abs(group.a.bytes() - group.b.bytes());
  });
  return out;
}

}  // namespace hloscope::graph
