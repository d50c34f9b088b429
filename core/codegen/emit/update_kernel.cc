// Kernels that write a block into an array where it is: dynamic-update-slice.
#include <algorithm>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/loop_space.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kGrainElements = 1 << 12;

}  // namespace

EmittedKernel EmitUpdate(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const InstructionId root = kernel.roots[0];
  const auto operands = kernel.module.operands(root);
  const auto whole = kernel.module.shape(root).dimensions();
  const auto sizes = kernel.module.shape(operands[1]).dimensions();
  const auto updated = std::ranges::find(kernel.parameters, operands[0]);
  EmittedKernel out;
  out.code.name = name;
  if (updated == kernel.parameters.end()) return out;
  const auto in_place = static_cast<int>(updated - kernel.parameters.begin());
  KernelFunction function(module, kernel, name, in_place);
  Builder& b = function.builder();
  // Dimensions that are updated whole are run through together with the one before them.
  const InstructionId update[] = {operands[1]};
  std::vector<bool> borders = Borders(kernel, update, sizes);
  for (size_t d = 0; d < sizes.size(); ++d) borders[d] = borders[d] || sizes[d] != whole[d];
  const std::vector<LoopGroup> groups = Grouped(sizes, borders);
  // A thread of a GPU writes an element.
  const bool by_row = !kernel.is_for_gpu() && !groups.empty();
  const int64_t row = by_row ? groups.back().size : 1, rows = ProductOf(sizes) / row;
  const int width = LanesAlong(kernel, row);
  const int64_t grain = std::max<int64_t>(1, GrainLimit(kernel, kGrainElements) / row);
  out.code.grains = (rows - 1) / grain + 1;
  out.code.grain_bytes = grain * row * BytesPerElement(kernel, ProductOf(whole));
  out.code.in_place = {in_place};

  IndexMath math(b, width, width == 1 ? 64 : LaneBits(kernel));
  ElementEmitter emitter(kernel.module, math, function.Arrays());
  Index start;  // of the block, by dimension
  for (size_t d = 0; d < sizes.size(); ++d) {
    start.groups.push_back({1, sizes[d] == whole[d]
                                   ? math.Constant(0)
                                   : emitter.Start(operands[2 + d], {}, whole[d] - sizes[d])});
  }
  const LaneNumber first = math.Offset(start, whole);
  function.ForUnits(rows, grain, [&](Value* unit) {
    Index index;
    index.groups.resize(groups.size());
    Value* rest = unit;
    for (size_t g = groups.size(); g-- > 0;) {
      index.groups[g].count = groups[g].count;
      if (by_row && g + 1 == groups.size()) continue;
      index.groups[g].number = math.TakeLast(rest, groups[g].size);
    }
    function.Loop(function.Int(0), function.Int(row), width, [&](Value* i) {
      emitter.Forget();
      if (by_row) {
        index.groups.back().number = {function.Smaller(i, function.Int(row - width)),
                                      width == 1 ? 0 : 1, nullptr, 1};
      }
      const LaneNumber at = math.Add(first, math.Offset(index, whole));
      function.Store(emitter.Emit(operands[1], index), kernel.module.shape(root).element_type(),
                     function.result(0), at.base, width);
    });
  });
  function.Finish();
  out.is_complete = !emitter.has_failed();
  return out;
}

}  // namespace hloscope::codegen
