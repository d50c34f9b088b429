// Dots on a GPU as products of matrices.
#include <numeric>

#include "core/codegen/dot/dot_results.h"
#include "core/codegen/dot/gpu_lanes.h"
#include "core/codegen/dot/gpu_tiles.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr int64_t kMin = 16;  // of the depth that tensor cores are worth

template <typename Sums>
EmittedKernel EmitProducts(const Kernel& kernel, hlo::InstructionId dot,
                           const compile::DotForm& form, Sums& sums, const std::string& name) {
  Builder& b = sums.function().builder();
  const auto times = [&](Value* number, int64_t stride) {
    return b.CreateMul(number, b.getInt64(static_cast<uint64_t>(stride)));
  };
  // Where a turn of all loops begins in an array.
  using Loop = compile::DotForm::Loop;
  const auto begin = [&](Value* turn, int64_t Loop::* stride) {
    Value *at = b.getInt64(0), *rest = turn;
    for (size_t i = form.loops.size(); i-- > 0;) {
      Value* size = b.getInt64(static_cast<uint64_t>(form.loops[i].size));
      at = b.CreateAdd(at, times(b.CreateURem(rest, size), form.loops[i].*stride));
      rest = b.CreateUDiv(rest, size);
    }
    return at;
  };
  TiledProducts what;
  what.turns = form.products();
  what.rows = form.rows;
  what.columns = form.columns;
  what.depth = form.depth;
  what.left.is_depth_fast = form.left_depth == 1;
  what.left.place = [&](Value* turn, Value* row, Value* k) -> TiledProducts::Place {
    return {b.CreateAdd(begin(turn, &Loop::left),
                        b.CreateAdd(times(row, form.left_row), times(k, form.left_depth)))};
  };
  what.right.is_depth_fast = form.right_depth == 1;
  what.right.place = [&](Value* turn, Value* column, Value* k) -> TiledProducts::Place {
    return {b.CreateAdd(begin(turn, &Loop::right),
                        b.CreateAdd(times(column, form.right_column), times(k, form.right_depth)))};
  };
  what.result = [&](Value* turn, Value* row, Value* column) {
    return b.CreateAdd(begin(turn, &Loop::out),
                       b.CreateAdd(times(row, form.out_row), times(column, form.out_column)));
  };
  // How many elements side by side begin at multiples of their number.
  const auto at_once = [&](int64_t fast, int64_t other, int64_t Loop::* side) {
    int64_t count = kMaxAtOnceOfTile;
    for (const Loop& loop : form.loops) count = std::gcd(count, loop.*side);
    return std::gcd(std::gcd(count, fast), other);
  };
  what.left.at_once = what.left.is_depth_fast ? at_once(form.depth, form.left_row, &Loop::left)
                      : form.left_row == 1    ? at_once(form.rows, form.left_depth, &Loop::left)
                                              : 1;
  what.right.at_once =
      what.right.is_depth_fast ? at_once(form.depth, form.right_column, &Loop::right)
      : form.right_column == 1 ? at_once(form.columns, form.right_depth, &Loop::right)
                               : 1;
  DotResults results(kernel, dot, form, sums.function());
  what.write = [&](const Products::Number& sum, const DotResults::Place& place) {
    results.Forget();
    results.Write(sum, place);
  };
  EmittedKernel out = sums.Emit(name, what);
  out.is_complete = out.is_complete && !results.has_failed();
  return out;
}

}  // namespace

EmittedKernel EmitGpuDot(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const hlo::InstructionId dot = DotOf(kernel);
  const auto form = compile::DotFormOf(kernel.module, dot);
  if (!form.has_value()) return EmitDot(module, kernel, name);
  if (!compile::FillsTiles(*form)) {
    GpuLanes lanes(module, kernel, dot, name, form->products() * form->rows * form->columns,
                   form->depth);
    return EmitProducts(kernel, dot, *form, lanes, name);
  }
  if (FitsTensorCores(kernel) && form->depth >= kMin) {
    return EmitGpuTensorDot(module, kernel, name, *form);
  }
  GpuTiles tiles(module, kernel, dot, name, form->products(), form->rows, form->columns);
  return EmitProducts(kernel, dot, *form, tiles, name);
}

}  // namespace hloscope::codegen
