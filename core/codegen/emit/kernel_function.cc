// The frame of a kernel's function, its loops and stores.
#include "core/codegen/emit/kernel_function.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <array>
#include <string>

#include "core/compile/gpu_code.h"
#include "core/linking/kernel_objects.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr uint64_t kPointerBytes = 8;

Value* LoadPointer(Builder& b, Value* list, size_t i) {
  Value* at = b.CreateConstGEP1_64(b.getPtrTy(), list, i);
  llvm::LoadInst* load = b.CreateAlignedLoad(b.getPtrTy(), at, llvm::Align(kPointerBytes));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

}  // namespace

llvm::Function* KernelFunction::NewFunction(llvm::Module& module, const Kernel& kernel,
                                            const std::string& name) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* number = b_.getInt64Ty();
  std::vector<llvm::Type*> types(3, pointer);
  if (kernel.is_for_gpu()) {
    types.resize(kernel.parameters.size() + kernel.module.shape(kernel.id).results().size() + 1,
                 pointer);
  }
  types.insert(types.end(), kernel.is_for_gpu() ? 3 : 2, number);
  llvm::Function* function =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                             llvm::Function::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  return function;
}

KernelFunction::KernelFunction(llvm::Module& module, const Kernel& kernel, const std::string& name,
                               int in_place, int64_t block)
    : b_(module.getContext()), function_(NewFunction(module, kernel, name)) {
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function_));
  kernel.is_for_gpu() ? BeginOnGpu(kernel, in_place, block) : BeginOnCpu(kernel, in_place);
}

void KernelFunction::BeginOnCpu(const Kernel& kernel, int in_place) {
  function_->addFnAttr("prefer-vector-width", "512");
  constexpr std::array kNames = {"operands", "results", "scratch", "begin", "end"};
  for (unsigned i = 0; i < kNames.size(); ++i) function_->getArg(i)->setName(kNames[i]);
  scratch_ = function_->getArg(2);
  begin_ = function_->getArg(3);
  end_ = function_->getArg(4);
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    arrays_.try_emplace(kernel.parameters[i].index, LoadPointer(b_, function_->getArg(0), i),
                        static_cast<int>(i) != in_place && !kernel.IsOverwritten(i));
  }
  const size_t leaves = kernel.module.shape(kernel.id).results().size();
  for (size_t i = 0; i < leaves; ++i) {
    results_.push_back(LoadPointer(b_, function_->getArg(1), i));
  }
}

// What ptxas is told of the threads of a block.
void KernelFunction::SayOfKernel(const char* what, int64_t number) {
  llvm::LLVMContext& context = b_.getContext();
  llvm::Metadata* row[] = {
      llvm::ValueAsMetadata::get(function_), llvm::MDString::get(context, what),
      llvm::ConstantAsMetadata::get(b_.getInt32(static_cast<uint32_t>(number)))};
  function_->getParent()
      ->getOrInsertNamedMetadata("nvvm.annotations")
      ->addOperand(llvm::MDNode::get(context, row));
}

void KernelFunction::AllowRegisters(int64_t registers) {
  constexpr int64_t kOfMultiprocessor = 65536;  // 32-bit ones, of all since sm_50
  if (block_threads_ == 0) return;
  SayOfKernel("minctasm", std::max<int64_t>(1, kOfMultiprocessor / (block_threads_ * registers)));
}

// kernel(operands…, results…, scratch, grains, grains of each thread, pass)
void KernelFunction::BeginOnGpu(const Kernel& kernel, int in_place, int64_t block) {
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  block_threads_ = block > 1 ? block : compile::kMaxGpuThreads;
  has_one_grain_ = !function_->getName().ends_with(linking::kFinishSuffix);
  SayOfKernel(block > 1 ? "reqntidx" : "maxntidx", block_threads_);
  for (llvm::Argument& each : function_->args()) {
    if (!each.getType()->isPointerTy()) continue;
    each.addAttr(llvm::Attribute::getWithAlignment(
        b_.getContext(), llvm::Align(static_cast<uint64_t>(compile::kGpuAlignment))));
  }
  llvm::Argument* argument = function_->arg_begin();
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    argument->setName("operand_" + std::to_string(i));
    arrays_.try_emplace(kernel.parameters[i].index, argument++, static_cast<int>(i) != in_place);
  }
  const size_t leaves = kernel.module.shape(kernel.id).results().size();
  for (size_t i = 0; i < leaves; ++i) {
    argument->setName("result_" + std::to_string(i));
    results_.push_back(argument++);
  }
  argument->setName("scratch");
  scratch_ = argument++;
  argument->setName("grains");
  Value* grains = argument++;
  argument->setName("each");
  Value* each = argument++;
  if (has_one_grain_) each = Int(1);
  argument->setName("pass");
  pass_ = argument;
  const auto read = [&](llvm::Intrinsic::ID id) {
    return b_.CreateZExt(b_.CreateIntrinsic(id, {}, {}), b_.getInt64Ty());
  };
  thread_ = read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  begin_ = read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  if (block == 1) {
    Value* before = b_.CreateMul(begin_, read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
    begin_ = b_.CreateMul(b_.CreateAdd(before, thread_), each);
  }
  auto* body = llvm::BasicBlock::Create(b_.getContext(), "body", function_);
  auto* idle = llvm::BasicBlock::Create(b_.getContext(), "idle", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin_, grains), body, idle);
  b_.SetInsertPoint(idle);
  b_.CreateRetVoid();
  b_.SetInsertPoint(body);
  end_ = Smaller(b_.CreateAdd(begin_, each), grains);
}

std::vector<Value*> KernelFunction::Loop(
    Value* from, Value* to, int64_t step, std::vector<Value*> initial,
    const std::function<std::vector<Value*>(Value*, std::vector<Value*>)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* round = llvm::BasicBlock::Create(b_.getContext(), "loop", function_);
  auto* behind = llvm::BasicBlock::Create(b_.getContext(), "done", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(from, to), round, behind);
  b_.SetInsertPoint(round);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(from, before);
  std::vector<llvm::PHINode*> phis;
  std::vector<Value*> values;
  for (Value* value : initial) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    values.push_back(phis.back());
  }
  const std::vector<Value*> next = body(i, values);
  Value* next_i = b_.CreateNSWAdd(i, Int(step));
  llvm::BasicBlock* last = b_.GetInsertBlock();
  i->addIncoming(next_i, last);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], last);
  b_.CreateCondBr(b_.CreateICmpSLT(next_i, to), round, behind);
  b_.SetInsertPoint(behind);
  std::vector<Value*> results;
  for (size_t k = 0; k < initial.size(); ++k) {
    llvm::PHINode* result = b_.CreatePHI(initial[k]->getType(), 2);
    result->addIncoming(initial[k], before);
    result->addIncoming(next[k], last);
    results.push_back(result);
  }
  return results;
}

void KernelFunction::Loop(Value* from, Value* to, int64_t step,
                          const std::function<void(Value*)>& body) {
  Loop(from, to, step, {}, [&](Value* i, const std::vector<Value*>&) {
    body(i);
    return std::vector<Value*>();
  });
}

KernelFunction::Values KernelFunction::While(const Values& initial,
                                             const std::function<Value*(const Values&)>& condition,
                                             const std::function<Values(const Values&)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(b_.getContext(), "while", function_);
  auto* round = llvm::BasicBlock::Create(b_.getContext(), "loop", function_);
  auto* behind = llvm::BasicBlock::Create(b_.getContext(), "done", function_);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  std::vector<llvm::PHINode*> phis;
  Values values;
  for (Value* value : initial) {
    phis.push_back(b_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    values.push_back(phis.back());
  }
  b_.CreateCondBr(condition(values), round, behind);
  b_.SetInsertPoint(round);
  const Values next = body(values);
  for (size_t k = 0; k < phis.size(); ++k) phis[k]->addIncoming(next[k], b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(behind);
  return values;
}

void KernelFunction::ForUnits(int64_t units, int64_t grain, const std::function<void(Value*)>& body,
                              int64_t step) {
  if (has_one_grain_ && grain == 1 && step == 1) {
    auto* own = llvm::BasicBlock::Create(b_.getContext(), "unit", function_);
    auto* behind = llvm::BasicBlock::Create(b_.getContext(), "done", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(begin_, Int(units)), own, behind);
    b_.SetInsertPoint(own);
    body(begin_);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
    return;
  }
  Value* from = b_.CreateMul(begin_, Int(grain));
  Value* to = Smaller(b_.CreateMul(end_, Int(grain)), Int(units));
  Loop(from, to, step, body);
}

Value* KernelFunction::Load(hlo::ElementType type, Value* address, Value* at, int width) {
  llvm::Type* element = MemoryType(b_, type);
  llvm::Type* all =
      width == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  Value* loaded = b_.CreateAlignedLoad(all, b_.CreateGEP(element, address, at),
                                       llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(type))));
  return FromMemory(b_, loaded, type);
}

void KernelFunction::Store(Value* value, hlo::ElementType type, Value* address, Value* at,
                           int width) {
  value = ToMemory(b_, value, type);
  llvm::Type* element = MemoryType(b_, type);
  if (width > 1 && !value->getType()->isVectorTy()) {
    value = b_.CreateVectorSplat(static_cast<unsigned>(width), value);
  }
  b_.CreateAlignedStore(value, b_.CreateGEP(element, address, at),
                        llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(type))));
}

void KernelFunction::StoreWhere(Value* mask, Value* value, hlo::ElementType type, Value* address,
                                Value* at) {
  const auto width = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  value = ToMemory(b_, value, type);
  if (!value->getType()->isVectorTy()) value = b_.CreateVectorSplat(width, value);
  b_.CreateMaskedStore(value, b_.CreateGEP(MemoryType(b_, type), address, at),
                       llvm::Align(static_cast<uint64_t>(hlo::StorageBytes(type))), mask);
}

Value* KernelFunction::Smaller(Value* a, Value* b) {
  return Call(b_, llvm::Intrinsic::smin, {a, b});
}

}  // namespace hloscope::codegen
