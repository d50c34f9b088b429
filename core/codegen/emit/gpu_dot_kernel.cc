// Dots on a GPU as products of matrices.
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_tiles.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr int64_t kMin = 16;  // rows and columns that tiles are worth

}  // namespace

EmittedKernel EmitGpuDot(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const auto form = compile::DotFormOf(kernel.module, kernel.roots[0]);
  if (!form.has_value() || form->rows < kMin || form->columns < kMin) {
    return EmitDot(module, kernel, name);
  }
  if (FitsTensorCores(kernel) && form->depth >= kMin) {
    return EmitGpuTensorDot(module, kernel, name, *form);
  }
  GpuTiles tiles(module, kernel, name, form->rows, form->columns);
  Builder& b = tiles.function().builder();
  const auto times = [&](Value* number, int64_t stride) {
    return b.CreateMul(number, b.getInt64(static_cast<uint64_t>(stride)));
  };
  // Where a turn of all loops begins in an array.
  using Loop = compile::DotForm::Loop;
  const auto begin = [&](Value* turn, int64_t Loop::* stride) {
    Value *at = b.getInt64(0), *rest = turn;
    for (size_t i = form->loops.size(); i-- > 0;) {
      Value* size = b.getInt64(static_cast<uint64_t>(form->loops[i].size));
      at = b.CreateAdd(at, times(b.CreateURem(rest, size), form->loops[i].*stride));
      rest = b.CreateUDiv(rest, size);
    }
    return at;
  };
  TiledProducts what{form->products(), form->rows, form->columns, form->depth, {}, {}, {}};
  what.left.is_depth_fast = form->left_depth == 1;
  what.left.place = [&](Value* turn, Value* row, Value* k) -> TiledProducts::Place {
    return {b.CreateAdd(begin(turn, &Loop::left),
                        b.CreateAdd(times(row, form->left_row), times(k, form->left_depth)))};
  };
  what.right.is_depth_fast = form->right_depth == 1;
  what.right.place = [&](Value* turn, Value* column, Value* k) -> TiledProducts::Place {
    return {b.CreateAdd(begin(turn, &Loop::right), b.CreateAdd(times(column, form->right_column),
                                                               times(k, form->right_depth)))};
  };
  what.result = [&](Value* turn, Value* row, Value* column) {
    return b.CreateAdd(begin(turn, &Loop::out),
                       b.CreateAdd(times(row, form->out_row), times(column, form->out_column)));
  };
  EmittedKernel out = InGrains(name, tiles.Emit(what), 1, 1, 1);
  out.block = kTileSide * kTileSide;
  out.is_complete = true;
  return out;
}

}  // namespace hloscope::codegen
