// SequenceEmitter: calls of kernels, copies, loops and branches.
#include "core/codegen/emit/sequence_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <utility>

#include "core/codegen/emit/fft_form.h"

namespace hloscope::codegen {

using compile::BufferNumber;
using compile::Place;
using compile::PlannedStep;
using compile::SequenceNumber;
using compile::StepKind;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// A kernel of up to this many LLVM instructions stands in the place of its call.
constexpr size_t kMaxInline = 400;

size_t CountInstructions(const llvm::Function& function) {
  size_t count = 0;
  for (const BasicBlock& block : function) count += block.size();
  return count;
}

// An array of up to this many elements is copied one by one, as kernels write it: LLVM keeps them
// in registers then, and the processor need not wait for several stores to become one load.
constexpr uint64_t kMaxCopiedElements = 16;

// Of an array of so many bytes in that shape; where several differ, of the first.
uint64_t ElementBytes(const hlo::Shape& shape, int64_t bytes) {
  for (const hlo::Shape* const leaf : shape.LeafShapes()) {
    if (leaf->IsArray() && leaf->ByteSize() == bytes && bytes > 0) {
      return static_cast<uint64_t>(hlo::StorageBytes(leaf->element_type()));
    }
  }
  return 1;
}

// A kernel is written for memory that nothing else writes while it runs; here other steps do.
void ForgetInvariance(llvm::Function& function) {
  for (BasicBlock& block : function) {
    for (llvm::Instruction& i : block) {
      i.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
    }
  }
}

size_t MostBuffers(const compile::Plan& plan) {
  size_t most = 0;
  for (const compile::Sequence& sequence : plan.sequences) {
    for (const PlannedStep& step : sequence) {
      most = std::max({most, step.operands.size(), step.results.size()});
    }
  }
  return most;
}

void MakeLocal(llvm::Function& function, KernelUse use) {
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (use == KernelUse::kCall) {
    function.addFnAttr(llvm::Attribute::NoInline);
    return;
  }
  ForgetInvariance(function);
  // What has features of its own stays a function.
  if (!function.hasFnAttribute("target-features") && CountInstructions(function) <= kMaxInline) {
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace

SequenceEmitter::SequenceEmitter(llvm::Function& function, const compile::Plan& plan,
                                 PlanMemory memory, KernelUse use, BasicBlock* failure)
    : function_(function),
      plan_(plan),
      memory_(std::move(memory)),
      b_(&function.back()),
      use_(use),
      failure_(failure) {}

BasicBlock* SequenceEmitter::NewBlock(const char* name) {
  return BasicBlock::Create(b_.getContext(), name, &function_);
}

Value* SequenceEmitter::AddressOf(BufferNumber b) {
  const compile::PlannedBuffer& buffer = plan_.buffers[b];
  if (buffer.place != Place::kArena) return memory_.outside.at(b);
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), memory_.arena, static_cast<uint64_t>(buffer.at));
}

void SequenceEmitter::EmitSequence(SequenceNumber sequence) {
  for (const PlannedStep& step : plan_.sequences[sequence]) {
    if (!has_failed()) EmitStep(step);
  }
}

void SequenceEmitter::EmitStep(const PlannedStep& step) {
  switch (step.kind) {
    case StepKind::kKernel:
      return EmitKernelStep(step);
    case StepKind::kCopy:
      return EmitCopy(step);
    case StepKind::kWhile:
      return EmitLoop(step);
    case StepKind::kConditional:
      return EmitBranch(step);
    case StepKind::kLibraryCall:
      return EmitFft(step);
    case StepKind::kEvaluate:
      failed_ = step.id;
      return;
  }
}

const EmittedKernel& SequenceEmitter::KernelOf(const PlannedStep& step) {
  Kernel kernel(*plan_.module, step.id);
  kernel.overwritten = compile::OverwrittenBy(*plan_.module, step);
  const auto [found, is_new] =
      kernels_.try_emplace(fmt::format("{} {}", KeyOf(kernel), static_cast<int>(use_)));
  if (!is_new) return found->second;
  llvm::Module& module = *function_.getParent();
  found->second =
      EmitKernel(module, kernel, fmt::format("{}_k{}", function_.getName().str(), kernels_.size()));
  const std::string& name = found->second.code.name;
  if (!found->second.is_complete) return found->second;
  MakeLocal(*module.getFunction(name), use_);
  if (found->second.has_finish) MakeLocal(*module.getFunction(name + kFinishSuffix), use_);
  return found->second;
}

Value* SequenceEmitter::NewList(size_t count) {
  llvm::IRBuilder<> entry(&function_.getEntryBlock(), function_.getEntryBlock().begin());
  return entry.CreateAlloca(llvm::ArrayType::get(b_.getPtrTy(), count));
}

// Where kernels are put in the places of their calls, each has lists of its own, which never
// change, so that LLVM sees through them.
Value* SequenceEmitter::ListOf(const std::vector<BufferNumber>& buffers, Value*& shared) {
  if (use_ == KernelUse::kCall && shared == nullptr) shared = NewList(MostBuffers(plan_));
  Value* list = use_ == KernelUse::kCall ? shared : NewList(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    b_.CreateStore(AddressOf(buffers[i]), b_.CreateConstGEP1_64(b_.getPtrTy(), list, i));
  }
  return list;
}

void SequenceEmitter::EmitKernelStep(const PlannedStep& step) {
  const EmittedKernel& kernel = KernelOf(step);
  if (!kernel.is_complete) {
    failed_ = step.id;
    return;
  }
  scratch_bytes_ = std::max(scratch_bytes_, kernel.code.scratch_bytes);
  llvm::Module& module = *function_.getParent();
  Value* grains = b_.getInt64(static_cast<uint64_t>(kernel.code.grains));
  Value* arguments[] = {ListOf(step.operands, operands_), ListOf(step.results, results_),
                        memory_.scratch, b_.getInt64(0), grains};
  b_.CreateCall(module.getFunction(kernel.code.name), arguments);
  if (!kernel.has_finish) return;
  b_.CreateCall(module.getFunction(kernel.code.name + kFinishSuffix), arguments);
}

llvm::FunctionCallee SequenceEmitter::RuntimeFft() {
  llvm::Type *pointer = b_.getPtrTy(), *number = b_.getInt64Ty();
  auto callee = function_.getParent()->getOrInsertFunction(
      "hloscope_fft",
      llvm::FunctionType::get(b_.getInt1Ty(), {pointer, pointer, pointer, number}, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->addRetAttr(llvm::Attribute::ZExt);
  return callee;
}

// One library call after the other, as many arrays in each as a run takes at a time.
void SequenceEmitter::EmitFft(const PlannedStep& step) {
  if (failure_ == nullptr || (*plan_.module)[step.id].opcode != hlo::Opcode::kFft) {
    failed_ = step.id;
    return;
  }
  const FftForm form = FftFormOf(*plan_.module, step.id);
  llvm::Constant* bytes = llvm::ConstantDataArray::get(
      b_.getContext(),
      llvm::ArrayRef(reinterpret_cast<const uint8_t*>(&form.fft), sizeof(form.fft)));
  auto* fft = new llvm::GlobalVariable(*function_.getParent(), bytes->getType(), true,
                                       llvm::GlobalValue::PrivateLinkage, bytes, "fft");
  fft->setAlignment(llvm::Align(alignof(HloscopeFft)));
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* round = NewBlock("fft");
  BasicBlock* next = NewBlock("next");
  BasicBlock* behind = NewBlock("behind");
  const auto fixed = [&](int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); };
  b_.CreateBr(round);
  b_.SetInsertPoint(round);
  llvm::PHINode* first = b_.CreatePHI(b_.getInt64Ty(), 2, "first");
  first->addIncoming(fixed(0), before);
  const auto at = [&](BufferNumber b, int64_t each) {
    return b_.CreateGEP(b_.getInt8Ty(), AddressOf(b), b_.CreateMul(first, fixed(each)));
  };
  Value* left = b_.CreateSub(fixed(form.arrays), first);
  Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, fixed(form.per_call));
  Value* is_done = b_.CreateCall(RuntimeFft(), {fft, at(step.operands[0], form.in_bytes),
                                                at(step.results[0], form.out_bytes), count});
  b_.CreateCondBr(is_done, next, failure_);
  b_.SetInsertPoint(next);
  Value* following = b_.CreateAdd(first, fixed(form.per_call));
  first->addIncoming(following, next);
  b_.CreateCondBr(b_.CreateICmpSLT(following, fixed(form.arrays)), round, behind);
  b_.SetInsertPoint(behind);
}

void SequenceEmitter::EmitCopy(const PlannedStep& step) {
  const compile::PlannedBuffer& from = plan_.buffers[step.operands[0]];
  const auto bytes = static_cast<uint64_t>(plan_.buffers[step.results[0]].bytes);
  if (bytes == 0) return;
  const llvm::MaybeAlign any(1);
  const uint64_t width = ElementBytes(plan_.module->shape(from.made_by), from.bytes);
  if (bytes > kMaxCopiedElements * width) {
    b_.CreateMemCpy(AddressOf(step.results[0]), any, AddressOf(step.operands[0]), any, bytes);
    return;
  }
  llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * width));
  std::vector<Value*> elements;
  const auto at = [&](BufferNumber b, uint64_t k) {
    return b_.CreateConstGEP1_64(type, AddressOf(b), k);
  };
  for (uint64_t k = 0; k < bytes / width; ++k) {
    elements.push_back(b_.CreateAlignedLoad(type, at(step.operands[0], k), any));
  }
  for (uint64_t k = 0; k < bytes / width; ++k) {
    b_.CreateAlignedStore(elements[k], at(step.results[0], k), any);
  }
}

// A pred as it is; the number of a branch as 64 bits.
Value* SequenceEmitter::LoadDecision(const PlannedStep& step) {
  const int64_t bytes = plan_.buffers[step.operands[0]].bytes;
  llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * bytes));
  Value* value = b_.CreateAlignedLoad(type, AddressOf(step.operands[0]), llvm::Align(1));
  return bytes == 1 ? value : b_.CreateSExt(value, b_.getInt64Ty());
}

void SequenceEmitter::EmitLoop(const PlannedStep& step) {
  const KernelUse use = std::exchange(use_, step.is_one_function ? KernelUse::kInline : use_);
  BasicBlock* decide = NewBlock("condition");
  b_.CreateBr(decide);
  b_.SetInsertPoint(decide);
  if (turn_hook_ != nullptr) turn_hook_(decide);
  EmitSequence(step.sequences[0]);
  BasicBlock* turn = NewBlock("body");
  BasicBlock* behind = NewBlock("behind");
  b_.CreateCondBr(b_.CreateIsNotNull(LoadDecision(step)), turn, behind);
  b_.SetInsertPoint(turn);
  EmitSequence(step.sequences[1]);
  b_.CreateBr(decide);
  b_.SetInsertPoint(behind);
  use_ = use;
}

// Branch 0 where a pred is true; of an index out of range the last one.
void SequenceEmitter::EmitBranch(const PlannedStep& step) {
  Value* decision = LoadDecision(step);
  const bool is_pred = decision->getType()->isIntegerTy(8);
  std::vector<BasicBlock*> blocks;
  for (size_t k = 0; k < step.sequences.size(); ++k) blocks.push_back(NewBlock("branch"));
  BasicBlock* behind = NewBlock("behind");
  if (is_pred) {
    b_.CreateCondBr(b_.CreateIsNotNull(decision), blocks[0], blocks[1]);
  } else {
    llvm::SwitchInst* choice =
        b_.CreateSwitch(decision, blocks.back(), static_cast<unsigned>(blocks.size()));
    for (size_t k = 0; k + 1 < blocks.size(); ++k) choice->addCase(b_.getInt64(k), blocks[k]);
  }
  for (size_t k = 0; k < blocks.size(); ++k) {
    b_.SetInsertPoint(blocks[k]);
    EmitSequence(step.sequences[k]);
    b_.CreateBr(behind);
  }
  b_.SetInsertPoint(behind);
}

}  // namespace hloscope::codegen
