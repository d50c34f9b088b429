#include "core/codegen/dot/dot_results.h"

#include <algorithm>

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

DotResults::DotResults(const Kernel& kernel, InstructionId dot, const compile::DotForm& form,
                       KernelFunction& function)
    : kernel_(kernel),
      dot_(dot),
      products_(kernel.module, dot),
      function_(function),
      math_(function.builder(), 1, 64),
      emitter_(kernel.module, math_, function.Arrays()) {
  const auto sizes = kernel.module.shape(dot).dimensions();
  if (kernel.roots[0] != dot) groups_ = Grouped(sizes, Borders(kernel, kernel.roots, sizes));
  std::erase_if(groups_, [](const LoopGroup& group) { return group.count == 0; });
  is_matrix_ = groups_.size() == 2 && form.loops.empty() && form.out_column == 1 &&
               form.out_row == form.columns && groups_[0].size == form.rows &&
               groups_[1].size == form.columns;
}

Index DotResults::IndexOf(const Place& place) {
  Index index;
  if (is_matrix_ && place.row != nullptr) {
    index.groups = {{groups_[0].count, math_.FromScalar(place.row)},
                    {groups_[1].count, math_.FromScalar(place.column)}};
    return index;
  }
  std::vector<LaneNumber> numbers(groups_.size());
  Value* rest = place.number;
  for (size_t g = groups_.size(); g-- > 0;) {
    numbers[g] = g == 0 ? math_.FromScalar(rest) : math_.TakeLast(rest, groups_[g].size);
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    index.groups.push_back({groups_[g].count, numbers[g]});
  }
  return index;
}

void DotResults::Write(const Products::Number& sum, const Place& place) {
  const auto type = [&](InstructionId id) { return kernel_.module.shape(id).element_type(); };
  Value* value = products_.Result(function_.builder(), sum);
  if (kernel_.roots[0] == dot_) {
    return function_.Store(value, type(dot_), function_.result(0), place.number, 1);
  }
  emitter_.Fix(dot_, value);
  const Index index = IndexOf(place);
  for (size_t i = 0; i < kernel_.roots.size(); ++i) {
    const InstructionId root = kernel_.roots[i];
    function_.Store(emitter_.Emit(root, index), type(root), function_.result(i), place.number, 1);
  }
}

}  // namespace hloscope::codegen
