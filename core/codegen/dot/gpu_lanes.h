// GpuLanes: sums of products on a GPU where results are too few, or too narrow, for tiles.
#pragma once

#include "core/codegen/dot/gpu_tiles.h"

namespace hloscope::codegen {

// Threads that keep the multiprocessors of a GPU busy.
inline constexpr int64_t kEnoughThreads = 256 * kMultiprocessors;

// Some lanes of a block have a result; each adds up every so many-th product, and a tree adds up
// what they have.
class GpuLanes {
 public:
  // `contraction`: whose operands are multiplied.
  GpuLanes(llvm::Module& module, const Kernel& kernel, hlo::InstructionId contraction,
           const std::string& name, int64_t results, int64_t depth);

  KernelFunction& function() { return function_; }
  // Writes the kernel, whose sizes are those that were said.
  linking::EmittedKernel Emit(const std::string& name, const TiledProducts& what);

 private:
  llvm::Value* Int(int64_t value) { return function_.Int(value); }
  Products::Number Sum(const TiledProducts& what, llvm::Value* turn, llvm::Value* row,
                       llvm::Value* column, llvm::Value* lane);

  const Kernel& kernel_;
  hlo::InstructionId contraction_;
  Products products_;
  int64_t results_, depth_;
  int64_t lanes_;  // of a result
  int64_t teams_;  // results of a block
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  IndexMath math_;
  ElementEmitter emitter_;
};

}  // namespace hloscope::codegen
