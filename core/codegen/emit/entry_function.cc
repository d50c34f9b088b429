// What the caller brings, the steps, and results that have no memory of their own.
#include "core/codegen/emit/entry_function.h"

#include <fmt/format.h>

#include "core/codegen/emit/sequence_emitter.h"
#include "core/compile/plan/plan_arrays.h"

namespace hloscope::codegen {

using compile::BufferNumber;
using compile::Place;
using compile::Plan;
using compile::PlanArray;
using llvm::BasicBlock;
using llvm::Value;

namespace {

class EntryEmitter {
 public:
  EntryEmitter(llvm::Module& module, const Plan& plan, const std::string& name)
      : module_(module), plan_(plan), b_(module.getContext()) {
    llvm::Type* pointer = b_.getPtrTy();
    auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
    function_->setDoesNotThrow();
    function_->addFnAttr("prefer-vector-width", "512");
    failure_ = BasicBlock::Create(b_.getContext(), "failure", function_);
    b_.SetInsertPoint(failure_);
    b_.CreateRet(b_.getInt32(1));
    BasicBlock* entry = BasicBlock::Create(b_.getContext(), "entry", function_, failure_);
    b_.SetInsertPoint(entry);
  }

  Result<EmittedEntry> Emit() {
    const int64_t scratch_at = compile::AlignedBytes(plan_.arena_bytes);
    PlanMemory memory{function_->getArg(2), Offset(function_->getArg(2), scratch_at), {}};
    BindArguments(memory);
    BindConstants(memory);
    BindResults(memory);
    BasicBlock* steps = BasicBlock::Create(b_.getContext(), "steps", function_);
    b_.CreateBr(steps);
    SequenceEmitter emitter(*function_, plan_, std::move(memory), KernelUse::kCall, failure_);
    emitter.EmitSequence(0);
    if (emitter.has_failed()) {
      return UnsupportedError(
          fmt::format("{} has no code of its own", plan_.module->name(emitter.failed())));
    }
    CopyResults(emitter);
    emitter.builder().CreateRet(b_.getInt32(0));
    return EmittedEntry{scratch_at + emitter.scratch_bytes(), emitter.kernel_count()};
  }

 private:
  Value* Offset(Value* address, int64_t bytes) {
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), address, static_cast<uint64_t>(bytes));
  }
  Value* LoadFrom(Value* list, size_t i) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), list, i));
  }

  void BindArguments(PlanMemory& memory) {
    const std::vector<PlanArray> arrays = compile::ParameterArrays(plan_);
    for (size_t i = 0; i < arrays.size(); ++i) {
      memory.outside[arrays[i].buffer] = LoadFrom(function_->getArg(0), i);
    }
  }

  void BindConstants(PlanMemory& memory) {
    for (BufferNumber b = 0; b < plan_.buffers.size(); ++b) {
      const compile::PlannedBuffer& buffer = plan_.buffers[b];
      if (buffer.place != Place::kConstant || buffer.last < 0) continue;
      const hlo::InstructionId id(static_cast<uint32_t>(buffer.at));
      const auto bytes =
          plan_.module->Get<hlo::Literal>((*plan_.module)[id], hlo::AttributeKey::kConstantValue)
              ->bytes();
      llvm::Constant* data = llvm::ConstantDataArray::get(
          b_.getContext(),
          llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
      auto* global = new llvm::GlobalVariable(module_, data->getType(), true,
                                              llvm::GlobalValue::PrivateLinkage, data, "constant");
      global->setAlignment(llvm::Align(static_cast<uint64_t>(compile::kBufferAlignment)));
      memory.outside[b] = global;
    }
  }

  // The first array that has a buffer of results lends it its memory.
  void BindResults(PlanMemory& memory) {
    const std::vector<PlanArray> arrays = compile::ResultArrays(plan_);
    for (size_t i = 0; i < arrays.size(); ++i) {
      const BufferNumber b = arrays[i].buffer;
      Value* address = LoadFrom(function_->getArg(1), i);
      const bool is_own = plan_.buffers[b].place == Place::kResult && !memory.outside.contains(b);
      if (is_own) {
        memory.outside[b] = address;
      } else {
        copied_.push_back({b, address});
      }
    }
  }

  void CopyResults(SequenceEmitter& emitter) {
    const llvm::MaybeAlign any(1);
    for (const auto& [b, to] : copied_) {
      const auto bytes = static_cast<uint64_t>(plan_.buffers[b].bytes);
      if (bytes == 0) continue;
      emitter.builder().CreateMemCpy(to, any, emitter.AddressOf(b), any, bytes);
    }
  }

  struct CopiedResult {
    BufferNumber from;
    Value* to;
  };

  llvm::Module& module_;
  const Plan& plan_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  BasicBlock* failure_ = nullptr;
  std::vector<CopiedResult> copied_;
};

}  // namespace

Result<EmittedEntry> EmitEntryFunction(llvm::Module& module, const Plan& plan,
                                       const std::string& name) {
  return EntryEmitter(module, plan, name).Emit();
}

}  // namespace hloscope::codegen
