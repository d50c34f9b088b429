// KernelFunction: an LLVM function of the form compile::GrainFunction while it is being written, or
// a kernel of a GPU, whose threads have grains.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/codegen/emit/element_emitter.h"
#include "core/codegen/emit/kernel.h"

namespace hloscope::codegen {

class KernelFunction {
 public:
  // Begins a function of that name; what is written to `in_place` (an operand, or -1) is not fixed.
  // `block`: threads of a GPU that compute a grain together.
  KernelFunction(llvm::Module& module, const Kernel& kernel, const std::string& name, int in_place,
                 int64_t block = 1);

  Builder& builder() { return b_; }
  llvm::Value* begin() const { return begin_; }
  llvm::Value* end() const { return end_; }
  llvm::Value* scratch() const { return scratch_; }
  // On a GPU: which of the launches this is, and the number of the thread in its block.
  llvm::Value* pass() const { return pass_; }
  llvm::Value* thread() const { return thread_; }
  // The lists of addresses; not on a GPU.
  llvm::Value* operands() const { return function_->getArg(0); }
  llvm::Value* results() const { return function_->getArg(1); }
  llvm::Function& function() { return *function_; }
  llvm::Value* result(size_t leaf) const { return results_[leaf]; }
  // On a GPU: a thread may have so many registers; else the assembler may choose fewer, for more
  // blocks at once, and keep values in memory.
  void AllowRegisters(int64_t registers);
  // The arrays that operands are, by what stands for them in the kernel.
  std::unordered_map<uint32_t, Array> Arrays() const { return arrays_; }

  // Runs body(i) for i = from, from + step, … below `to`. Values made in the body are of no use
  // behind it.
  void Loop(llvm::Value* from, llvm::Value* to, int64_t step,
            const std::function<void(llvm::Value*)>& body);
  // The same with values that go from round to round: body(i, values) gives the next ones, and the
  // last ones are returned.
  std::vector<llvm::Value*> Loop(
      llvm::Value* from, llvm::Value* to, int64_t step, std::vector<llvm::Value*> initial,
      const std::function<std::vector<llvm::Value*>(llvm::Value*, std::vector<llvm::Value*>)>&
          body);

  // Runs values = body(values) while the condition of them holds, and returns the last ones.
  using Values = std::vector<llvm::Value*>;
  Values While(const Values& initial, const std::function<llvm::Value*(const Values&)>& condition,
               const std::function<Values(const Values&)>& body);

  // Runs body(unit) for the units of the grains that are asked for: `grain` units each, but for the
  // last one, of `units` in all; of every `step`-th unit.
  void ForUnits(int64_t units, int64_t grain, const std::function<void(llvm::Value*)>& body,
                int64_t step = 1);

  // Reads, or writes, elements from element number `at` of an array on.
  llvm::Value* Load(hlo::ElementType type, llvm::Value* address, llvm::Value* at, int width);
  void Store(llvm::Value* value, hlo::ElementType type, llvm::Value* address, llvm::Value* at,
             int width);
  // Writes those of a vector's elements that the mask lets in.
  void StoreWhere(llvm::Value* mask, llvm::Value* value, hlo::ElementType type,
                  llvm::Value* address, llvm::Value* at);
  llvm::Value* Int(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* Smaller(llvm::Value* a, llvm::Value* b);

  void Finish() { b_.CreateRetVoid(); }

 private:
  llvm::Function* NewFunction(llvm::Module& module, const Kernel& kernel, const std::string& name);
  void BeginOnCpu(const Kernel& kernel, int in_place);
  void BeginOnGpu(const Kernel& kernel, int in_place, int64_t block);
  void SayOfKernel(const char* what, int64_t number);

  Builder b_;
  llvm::Function* function_;
  int64_t block_threads_ = 0;   // 0: not on a GPU
  bool has_one_grain_ = false;  // each thread, or block, of a GPU
  llvm::Value *begin_, *end_, *scratch_, *pass_ = nullptr, *thread_ = nullptr;
  std::vector<llvm::Value*> results_;
  std::unordered_map<uint32_t, Array> arrays_;
};

}  // namespace hloscope::codegen
