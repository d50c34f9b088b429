// Loops as functions that can be left and entered again after any number of turns.
#include "core/codegen/emit/loop_function.h"

#include <set>

#include "core/codegen/emit/sequence_emitter.h"
#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

using compile::BufferNumber;
using compile::Place;
using compile::Plan;
using compile::PlannedStep;
using llvm::BasicBlock;
using llvm::Value;

namespace {

std::set<BufferNumber> BuffersOf(const Plan& plan, const PlannedStep& loop) {
  std::set<BufferNumber> out(loop.operands.begin(), loop.operands.end());
  const auto take = [&](const PlannedStep& step) {
    out.insert(step.operands.begin(), step.operands.end());
    out.insert(step.results.begin(), step.results.end());
  };
  for (const compile::SequenceNumber s : loop.sequences) compile::ForEachStep(plan, s, take);
  return out;
}

// Turns of loops inside, all together, before the function comes back to be looked at: about a
// millisecond.
constexpr int64_t kMaxInnerIterations = 1 << 16;

class LoopFunctionEmitter {
 public:
  LoopFunctionEmitter(llvm::Module& module, const Plan& plan, const PlannedStep& loop,
                      const std::string& name)
      : plan_(plan), loop_(loop), function_(NewFunction(module, name)) {
    llvm::IRBuilder<> entry(BasicBlock::Create(module.getContext(), "entry", function_));
    iterations_left_ = entry.CreateAlloca(entry.getInt64Ty());
    inner_iterations_left_ = entry.CreateAlloca(entry.getInt64Ty());
    entry.CreateStore(entry.CreateLoad(entry.getInt64Ty(), Progress(entry, kIterationsLeft)),
                      iterations_left_);
    entry.CreateStore(entry.getInt64(kMaxInnerIterations), inner_iterations_left_);
    memory_ = {function_->getArg(1), function_->getArg(2), {}};
    for (const BufferNumber b : BuffersOf(plan, loop)) {
      if (plan.buffers[b].place == Place::kArena) continue;
      memory_.outside[b] = entry.CreateLoad(
          entry.getPtrTy(), entry.CreateConstGEP1_64(entry.getPtrTy(), function_->getArg(0), b));
    }
    inner_ = entry.CreateLoad(entry.getInt64Ty(), Progress(entry, kInner));
  }

  std::optional<int64_t> Emit() {
    SequenceEmitter emitter(*function_, plan_, std::move(memory_));
    emitter.set_turn_hook([&](BasicBlock* turn) { CountInnerIteration(emitter, turn); });
    llvm::IRBuilder<>& b = emitter.builder();
    BasicBlock* decide = emitter.NewBlock("condition");
    resume_ = b.CreateSwitch(inner_, decide);
    BasicBlock* pause = emitter.NewBlock("pause");
    b.SetInsertPoint(pause);
    stopped_in_ = b.CreatePHI(b.getInt64Ty(), 1);
    b.CreateStore(b.CreateLoad(b.getInt64Ty(), iterations_left_), Progress(b, kIterationsLeft));
    b.CreateStore(stopped_in_, Progress(b, kInner));
    b.CreateRet(b.getInt8(0));
    pause_ = pause;

    b.SetInsertPoint(decide);
    Value* left = b.CreateLoad(b.getInt64Ty(), iterations_left_);
    BasicBlock* look = emitter.NewBlock("look");
    b.CreateCondBr(b.CreateICmpSGT(left, b.getInt64(0)), look, pause);
    stopped_in_->addIncoming(b.getInt64(0), decide);
    b.SetInsertPoint(look);
    emitter.EmitSequence(loop_.sequences[0]);
    if (emitter.has_failed()) return std::nullopt;
    BasicBlock* turn = emitter.NewBlock("body");
    BasicBlock* end = emitter.NewBlock("end");
    b.CreateCondBr(b.CreateIsNotNull(emitter.LoadDecision(loop_)), turn, end);
    b.SetInsertPoint(end);
    b.CreateRet(b.getInt8(1));
    b.SetInsertPoint(turn);
    emitter.EmitSequence(loop_.sequences[1]);
    if (emitter.has_failed()) return std::nullopt;
    CountDown(b, iterations_left_);
    b.CreateBr(decide);
    return emitter.scratch_bytes();
  }

 private:
  // Members of compile::LoopProgress.
  enum Member : uint8_t { kIterationsLeft, kInner };

  static llvm::Function* NewFunction(llvm::Module& module, const std::string& name) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* pointer = llvm::PointerType::get(context, 0);
    auto* type = llvm::FunctionType::get(llvm::Type::getInt8Ty(context),
                                         {pointer, pointer, pointer, pointer}, false);
    auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function->setDoesNotThrow();
    // As compile::LoopFunction has it; addresses of the arena are not taken from `buffers`.
    for (const unsigned memory : {1U, 2U, 3U}) {
      function->addParamAttr(memory, llvm::Attribute::NoAlias);
    }
    function->addFnAttr("prefer-vector-width", "512");
    return function;
  }

  Value* Progress(llvm::IRBuilder<>& b, Member member) {
    return b.CreateConstGEP1_64(b.getInt64Ty(), function_->getArg(3), member);
  }

  static Value* CountDown(llvm::IRBuilder<>& b, Value* counter) {
    Value* left = b.CreateSub(b.CreateLoad(b.getInt64Ty(), counter), b.getInt64(1));
    b.CreateStore(left, counter);
    return left;
  }

  // All that a turn needs is in memory, so the function can come back here, and go on here.
  void CountInnerIteration(SequenceEmitter& emitter, BasicBlock* turn) {
    llvm::IRBuilder<>& b = emitter.builder();
    llvm::ConstantInt* number = b.getInt64(resume_->getNumCases() + 1);
    resume_->addCase(number, turn);
    BasicBlock* go_on = emitter.NewBlock("inner");
    b.CreateCondBr(b.CreateICmpSGT(CountDown(b, inner_iterations_left_), b.getInt64(0)), go_on,
                   pause_);
    stopped_in_->addIncoming(number, turn);
    b.SetInsertPoint(go_on);
  }

  const Plan& plan_;
  const PlannedStep& loop_;
  llvm::Function* function_;
  PlanMemory memory_;
  Value *iterations_left_ = nullptr, *inner_iterations_left_ = nullptr;  // left
  Value* inner_ = nullptr;  // where the last call stopped
  llvm::SwitchInst* resume_ = nullptr;
  BasicBlock* pause_ = nullptr;
  llvm::PHINode* stopped_in_ = nullptr;
};

}  // namespace

std::optional<int64_t> EmitLoopFunction(llvm::Module& module, const Plan& plan,
                                        const PlannedStep& loop, const std::string& name) {
  return LoopFunctionEmitter(module, plan, loop, name).Emit();
}

}  // namespace hloscope::codegen
