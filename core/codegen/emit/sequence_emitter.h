// SequenceEmitter: the steps of a plan as code that runs one after the other.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/codegen/emit/emit_kernel.h"
#include "core/compile/plan/plan.h"

namespace hloscope::codegen {

// Where the memory of a plan is while the code runs.
struct PlanMemory {
  llvm::Value* arena = nullptr;
  llvm::Value* scratch = nullptr;
  std::unordered_map<compile::BufferNumber, llvm::Value*> outside;  // all that is not of the arena
};

// Kernels become functions that only this module knows.
enum class KernelUse : uint8_t {
  kInline,  // small ones stand in the places of their calls, once LLVM has put them there
  kCall,    // equal ones are one function, which is called; but in a loop that is one function
};

class SequenceEmitter {
 public:
  // `function` is being written; code is added behind its last block. Calls of the runtime that
  // fail go to `failure`; null: no such call can be written.
  SequenceEmitter(llvm::Function& function, const compile::Plan& plan, PlanMemory memory,
                  KernelUse use = KernelUse::kInline, llvm::BasicBlock* failure = nullptr);

  void EmitSequence(compile::SequenceNumber sequence);
  // The decision of a loop or branch, as a number.
  llvm::Value* LoadDecision(const compile::PlannedStep& step);
  llvm::Value* AddressOf(compile::BufferNumber b);

  // Is called where a turn of a loop begins, to add code there; the block is the first of the turn.
  using TurnHook = std::function<void(llvm::BasicBlock* turn)>;
  void set_turn_hook(TurnHook hook) { turn_hook_ = std::move(hook); }

  llvm::IRBuilder<>& builder() { return b_; }
  llvm::BasicBlock* NewBlock(const char* name);
  // True if a step could not be written; the code is of no use then.
  bool has_failed() const { return failed_.valid(); }
  hlo::InstructionId failed() const { return failed_; }  // that step
  int64_t scratch_bytes() const { return scratch_bytes_; }
  int64_t kernel_count() const { return std::ssize(kernels_); }

 private:
  void EmitStep(const compile::PlannedStep& step);
  void EmitKernelStep(const compile::PlannedStep& step);
  void EmitFft(const compile::PlannedStep& step);
  void EmitCopy(const compile::PlannedStep& step);
  void EmitLoop(const compile::PlannedStep& step);
  void EmitBranch(const compile::PlannedStep& step);
  const EmittedKernel& KernelOf(const compile::PlannedStep& step);
  // The addresses of the buffers, as a list in memory.
  llvm::Value* ListOf(const std::vector<compile::BufferNumber>& buffers, llvm::Value*& shared);
  llvm::Value* NewList(size_t count);
  llvm::FunctionCallee RuntimeFft();

  llvm::Function& function_;
  const compile::Plan& plan_;
  PlanMemory memory_;
  llvm::IRBuilder<> b_;
  std::unordered_map<std::string, EmittedKernel> kernels_;  // by key and use
  KernelUse use_;
  llvm::BasicBlock* failure_;
  // Of all calls, which do not keep them.
  llvm::Value *operands_ = nullptr, *results_ = nullptr;
  int64_t scratch_bytes_ = 0;
  hlo::InstructionId failed_;
  TurnHook turn_hook_;
};

}  // namespace hloscope::codegen
