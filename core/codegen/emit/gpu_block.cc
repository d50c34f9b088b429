// Barriers, shared memory and shuffles (PTX ISA: barrier.sync, shfl.sync).
#include "core/codegen/emit/gpu_block.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace hloscope::codegen {

using llvm::Value;

namespace {

constexpr unsigned kSharedMemory = 3;  // LLVM's number of the address space
constexpr unsigned kWordBits = 32;
constexpr uint32_t kAllLanes = 0xffffffff;

// Whole bytes: pred has one.
llvm::Type* InShared(llvm::Type* type) {
  return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(type->getContext()) : type;
}

}  // namespace

void GpuBlock::Barrier() { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

Value* GpuBlock::Shared(llvm::Type* type, int64_t count) {
  llvm::Module& module = *b_.GetInsertBlock()->getModule();
  auto* array = llvm::ArrayType::get(InShared(type), static_cast<uint64_t>(count));
  auto* room = new llvm::GlobalVariable(module, array, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::UndefValue::get(array), "shared", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kSharedMemory);
  room->setAlignment(llvm::Align(16));
  return room;
}

void GpuBlock::Save(Value* value, Value* room, Value* at) {
  llvm::Type* type = InShared(value->getType());
  if (type != value->getType()) value = b_.CreateZExt(value, type);
  b_.CreateStore(value, b_.CreateGEP(type, room, at));
}

Value* GpuBlock::Load(llvm::Type* type, Value* room, Value* at) {
  llvm::Type* own = InShared(type);
  Value* value = b_.CreateLoad(own, b_.CreateGEP(own, room, at));
  return own == type ? value : b_.CreateTrunc(value, type);
}

Value* GpuBlock::ByWords(Value* value, const std::function<Value*(Value*)>& one) {
  llvm::Type* type = value->getType();
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  const unsigned words = (bits + kWordBits - 1) / kWordBits;
  llvm::Type* own = b_.getIntNTy(bits);
  llvm::Type* whole = b_.getIntNTy(words * kWordBits);
  Value* number = b_.CreateZExt(b_.CreateBitCast(value, own), whole);
  Value* out = llvm::Constant::getNullValue(whole);
  for (unsigned i = 0; i < words; ++i) {
    Value* word = b_.CreateTrunc(b_.CreateLShr(number, i * kWordBits), b_.getInt32Ty());
    out = b_.CreateOr(out, b_.CreateShl(b_.CreateZExt(one(word), whole), i * kWordBits));
  }
  return b_.CreateBitCast(b_.CreateTrunc(out, own), type);
}

Value* GpuBlock::Across(Value* value, int64_t distance) {
  return ByWords(value, [&](Value* word) -> Value* {
    return b_.CreateIntrinsic(
        llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
        {b_.getInt32(kAllLanes), word, b_.getInt32(static_cast<uint32_t>(distance)),
         b_.getInt32(kWarp - 1)});
  });
}

Value* GpuBlock::FromLower(Value* value, int64_t distance) {
  return ByWords(value, [&](Value* word) -> Value* {
    return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_up_i32, {},
                              {b_.getInt32(kAllLanes), word,
                               b_.getInt32(static_cast<uint32_t>(distance)), b_.getInt32(0)});
  });
}

Value* GpuBlock::FromLane(Value* value, Value* lane) {
  Value* from = b_.CreateTrunc(lane, b_.getInt32Ty());
  return ByWords(value, [&](Value* word) -> Value* {
    return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                              {b_.getInt32(kAllLanes), word, from, b_.getInt32(kWarp - 1)});
  });
}

Value* GpuBlock::Ballot(Value* condition) {
  return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, {},
                            {b_.getInt32(kAllLanes), condition});
}

GpuBlock::Values GpuBlock::Combined(Values values, int64_t lanes, Value* team, int64_t teams,
                                    const Combine& combine, bool in_order) {
  const auto in_warp = [&](int64_t width) {
    for (int64_t part = 2; part <= width; part *= 2) {
      const int64_t distance = in_order ? part / 2 : width / part;
      Values others;
      for (Value* value : values) others.push_back(Across(value, distance));
      values = combine(values, others);
    }
  };
  in_warp(std::min(lanes, kWarp));
  if (lanes <= kWarp) return values;
  // One value of each warp, then those of a team in every one of its warps.
  const int64_t warps = lanes / kWarp;
  Value* thread = function_.thread();
  Value* lane = b_.CreateURem(thread, function_.Int(kWarp));
  std::vector<Value*> rooms;
  for (Value* value : values) rooms.push_back(Shared(value->getType(), warps * teams));
  When(b_.CreateICmpEQ(lane, function_.Int(0)), [&] {
    for (size_t i = 0; i < values.size(); ++i) {
      Save(values[i], rooms[i], b_.CreateUDiv(thread, function_.Int(kWarp)));
    }
  });
  Barrier();
  Value* at = b_.CreateAdd(b_.CreateMul(team, function_.Int(warps)),
                           b_.CreateURem(lane, function_.Int(warps)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = Load(values[i]->getType(), rooms[i], at);
  }
  in_warp(warps);
  return values;
}

void GpuBlock::When(Value* condition, const std::function<void()>& body) {
  function_.Loop(function_.Int(0), b_.CreateZExt(condition, b_.getInt64Ty()), 1,
                 [&](Value*) { body(); });
}

}  // namespace hloscope::codegen
