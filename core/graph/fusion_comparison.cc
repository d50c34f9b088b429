// Kernels of both sides are put together where an operation is in one of each.
#include "core/graph/fusion_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/hlo/analysis/cost.h"

namespace hloscope::graph {
namespace {

class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  uint32_t Find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(uint32_t x, uint32_t y) { parent_[Find(x)] = Find(y); }

 private:
  std::vector<uint32_t> parent_;
};

Traffic& operator+=(Traffic& sum, const Traffic& more) {
  sum.read += more.read;
  sum.written += more.written;
  return sum;
}

}  // namespace

CompiledSide MakeCompiledSide(const hlo::Module& compiled, const analysis::Placement& placement) {
  CompiledSide side{.map = MapKernels(compiled, placement), .traffic = {}, .all = {}};
  const hlo::CostModel costs(compiled);
  for (const KernelMap::Kernel& kernel : side.map.kernels) {
    const hlo::Cost& cost = costs.Of(kernel.instruction);
    side.traffic.push_back({cost.bytes_read, cost.bytes_written});
    side.all += side.traffic.back();
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
  Sets sets(count_a + count_b);
  for (uint32_t i = 0; i < given.instructions().size(); ++i) {
    const bool is_both = in_a[i] != kNoKernel && in_b[i] != kNoKernel;
    if (is_both && IsOperation(given, hlo::InstructionId(i))) sets.Join(in_a[i], count_a + in_b[i]);
  }
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
