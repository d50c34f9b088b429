// Loops as functions that can be left and entered again after any number of turns.
#include "core/codegen/emit/loop_function.h"

#include <set>

#include "core/codegen/emit/sequence_emitter.h"

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

}  // namespace

std::optional<int64_t> EmitLoopFunction(llvm::Module& module, const Plan& plan,
                                        const PlannedStep& loop, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* number = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt8Ty(context),
                                       {pointer, pointer, pointer, number}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("prefer-vector-width", "512");
  llvm::IRBuilder<> entry(BasicBlock::Create(context, "entry", function));
  PlanMemory memory{function->getArg(1), function->getArg(2), {}};
  for (const BufferNumber b : BuffersOf(plan, loop)) {
    if (plan.buffers[b].place == Place::kArena) continue;
    memory.outside[b] =
        entry.CreateLoad(pointer, entry.CreateConstGEP1_64(pointer, function->getArg(0), b));
  }
  BasicBlock* before = entry.GetInsertBlock();
  SequenceEmitter emitter(*function, plan, std::move(memory));
  llvm::IRBuilder<>& b = emitter.builder();
  BasicBlock* decide = emitter.NewBlock("condition");
  b.CreateBr(decide);
  b.SetInsertPoint(decide);
  llvm::PHINode* left = b.CreatePHI(number, 2, "left");
  left->addIncoming(function->getArg(3), before);
  BasicBlock* look = emitter.NewBlock("look");
  BasicBlock* pause = emitter.NewBlock("pause");
  b.CreateCondBr(b.CreateICmpSGT(left, b.getInt64(0)), look, pause);
  b.SetInsertPoint(pause);
  b.CreateRet(b.getInt8(0));
  b.SetInsertPoint(look);
  emitter.EmitSequence(loop.sequences[0]);
  if (emitter.has_failed()) return std::nullopt;
  BasicBlock* turn = emitter.NewBlock("body");
  BasicBlock* end = emitter.NewBlock("end");
  b.CreateCondBr(b.CreateIsNotNull(emitter.LoadDecision(loop)), turn, end);
  b.SetInsertPoint(end);
  b.CreateRet(b.getInt8(1));
  b.SetInsertPoint(turn);
  emitter.EmitSequence(loop.sequences[1]);
  if (emitter.has_failed()) return std::nullopt;
  left->addIncoming(b.CreateSub(left, b.getInt64(1)), b.GetInsertBlock());
  b.CreateBr(decide);
  return emitter.scratch_bytes();
}

}  // namespace hloscope::codegen
