#include "core/codegen/emit/dot_side.h"

#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {

DotSide::DotSide(const hlo::Module& module, hlo::InstructionId dot, size_t which)
    : id(module.operands(dot)[which]), sizes(module.shape(id).dimensions()) {
  const hlo::DotDims dims = hlo::DotDimsOf(module, dot);
  const auto& [of_batch, of_sums, group] = dims.side(which);
  batch.assign(of_batch.begin(), of_batch.end());
  sums.assign(of_sums.begin(), of_sums.end());
  const auto free = dims.side(which).Free(sizes.size());
  outer.assign(free.begin(), free.end());
  while (!outer.empty() && (block.empty() || outer.back() + 1 == block.front())) {
    block.insert(block.begin(), outer.back());
    block_size *= sizes[outer.back()];
    outer.pop_back();
  }
}

int64_t DotSide::OuterSize() const {
  int64_t size = 1;
  for (const size_t d : outer) size *= sizes[d];
  return size;
}

Index DotSide::IndexOf(const std::vector<LaneNumber>& numbers,
                       const LaneNumber& block_number) const {
  Index index;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!block.empty() && d == block.front()) {
      index.groups.push_back({block.size(), block_number});
      d = block.back();
      continue;
    }
    index.groups.push_back({1, numbers[d]});
  }
  return index;
}

}  // namespace hloscope::codegen
