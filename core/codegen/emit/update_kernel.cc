// Kernels that write a block into an array where it is: dynamic-update-slice.
#include <algorithm>
#include <bit>

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
  const int64_t row = sizes.empty() ? 1 : sizes.back(), rows = ProductOf(sizes) / row;
  const int width = static_cast<int>(
      std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(FullWidth(kernel), row))));
  const int64_t grain = std::max<int64_t>(1, kGrainElements / row);
  out.code.grains = (rows - 1) / grain + 1;
  out.code.grain_bytes = grain * row * BytesPerElement(kernel, ProductOf(whole));
  out.code.in_place = {in_place};

  IndexMath math(b, width, width == 1 ? 64 : LaneBits(kernel));
  ElementEmitter emitter(kernel.module, math, function.Arrays());
  std::vector<LaneNumber> starts;
  for (size_t d = 0; d < sizes.size(); ++d) {
    starts.push_back(sizes[d] == whole[d]
                         ? math.Constant(0)
                         : emitter.Start(operands[2 + d], {}, whole[d] - sizes[d]));
  }
  Value* from = b.CreateMul(function.begin(), function.Int(grain));
  Value* to =
      function.Smaller(b.CreateMul(function.end(), function.Int(grain)), function.Int(rows));
  function.Loop(from, to, 1, [&](Value* unit) {
    std::vector<LaneNumber> outer(sizes.empty() ? 0 : sizes.size() - 1);
    Value* rest = unit;
    for (size_t d = outer.size(); d-- > 0;) {
      outer[d] = math.FromScalar(b.CreateURem(rest, function.Int(sizes[d])));
      rest = b.CreateUDiv(rest, function.Int(sizes[d]));
    }
    function.Loop(function.Int(0), function.Int(row), width, [&](Value* i) {
      emitter.Forget();
      Index index, where;
      for (size_t d = 0; d < sizes.size(); ++d) {
        LaneNumber number = math.Constant(0);
        if (d + 1 < sizes.size()) {
          number = outer[d];
        } else {
          number = {function.Smaller(i, function.Int(row - width)), width == 1 ? 0 : 1, nullptr, 1};
        }
        index.groups.push_back({1, number});
        where.groups.push_back({1, math.Add(starts[d], number)});
      }
      function.Store(emitter.Emit(operands[1], index), kernel.module.shape(root).element_type(),
                     function.result(0), math.Offset(where, whole).base, width);
    });
  });
  function.Finish();
  out.is_complete = !emitter.has_failed();
  return out;
}

}  // namespace hloscope::codegen
