// Elements that take more than those of the operands at one index each.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/codegen/emit/element_emitter.h"
#include "core/codegen/emit/elementwise.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

namespace {

constexpr int kDeepest = 256;  // special elements inside each other

}  // namespace

Value* ElementEmitter::Special(const Request& request) {
  if (const auto array = arrays_.find(request.id.index); array != arrays_.end()) {
    return Load(array->second, request);
  }
  if (depth_ >= kDeepest || has_failed_) return Failed(request.id);
  using Self = ElementEmitter;
  static constexpr hlo::OpcodeTable<Value* (Self::*)(const Request&)> kSpecial = {
      {Opcode::kConcatenate, &Self::Concatenate},
      {Opcode::kConstant, &Self::Constant},
      {Opcode::kDynamicSlice, &Self::DynamicSlice},
      {Opcode::kGather, &Self::Gather},
      {Opcode::kIota, &Self::Iota},
      {Opcode::kPad, &Self::Pad},
  };
  const auto special = kSpecial[module_[request.id].opcode];
  if (special == nullptr) return Failed(request.id);
  ++depth_;
  Value* value = (this->*special)(request);
  --depth_;
  return value;
}

Value* ElementEmitter::Constant(const Request& request) {
  const auto* literal =
      module_.Get<hlo::Literal>(module_[request.id], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided()) return Failed(request.id);
  const auto count = static_cast<size_t>(ProductOf(Sizes(request.id)));
  if (count == 1) return ElementOf(b_, *literal, 0);
  const auto bytes = literal->bytes();
  llvm::Constant* data = llvm::ConstantDataArray::get(
      b_.getContext(),
      llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  auto* global = new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), data->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, data, "constant");
  global->setAlignment(llvm::Align(64));
  return Load(arrays_[request.id.index] = {global, true}, request);
}

Value* ElementEmitter::Iota(const Request& request) {
  const auto d =
      static_cast<size_t>(module_.GetInt(module_[request.id], AttributeKey::kIotaDimension));
  Index index = request.index;
  const LaneNumber number = math_.Of(index, Sizes(request.id), d);
  const ElementType type = module_.shape(request.id).element_type();
  if (number.is_uniform()) return Converted(b_, number.base, ElementType::kS64, type);
  const bool is_short = math_.lane_bits() == 32;
  return Converted(b_, math_.Vector(number), is_short ? ElementType::kS32 : ElementType::kS64,
                   type);
}

Value* ElementEmitter::IsBelow(const LaneNumber& number, int64_t limit) {
  Value* value = number.is_uniform() ? number.base : math_.Vector(number);
  return b_.CreateICmpULT(value, IntegerLike(value, limit));
}

void ElementEmitter::And(Condition& condition, Value* other) {
  Value*& part = other->getType()->isVectorTy() ? condition.lanes : condition.all;
  part = part == nullptr ? other : b_.CreateAnd(part, other);
}

Value* ElementEmitter::Where(const Condition& condition, Request request, Value* otherwise) {
  if (condition.lanes != nullptr) {
    Value*& mask = request.index.mask;
    mask = mask == nullptr ? condition.lanes : b_.CreateAnd(mask, condition.lanes);
  }
  const auto width = static_cast<unsigned>(math_.width());
  const auto in_lanes = [&](Value* value) {
    return value->getType()->isVectorTy() || width == 1 ? value
                                                        : b_.CreateVectorSplat(width, value);
  };
  const auto inside = [&] {
    Value* value = Emit(request.id, std::move(request.index));
    if (condition.lanes == nullptr) return value;
    return b_.CreateSelect(condition.lanes, in_lanes(value), in_lanes(otherwise));
  };
  Value* anywhere = condition.all;
  if (condition.lanes != nullptr) {
    Value* mask = request.index.mask;
    if (!llvm::isa<llvm::Constant>(mask)) {
      Value* some = b_.CreateOrReduce(mask);
      anywhere = anywhere == nullptr ? some : b_.CreateAnd(anywhere, some);
    } else if (llvm::cast<llvm::Constant>(mask)->isNullValue()) {
      return otherwise;
    }
  }
  if (anywhere == nullptr) return inside();
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(anywhere)) {
    return known->isZero() ? otherwise : inside();
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* begin = llvm::BasicBlock::Create(b_.getContext(), "inside", function);
  auto* behind = llvm::BasicBlock::Create(b_.getContext(), "behind", function);
  b_.CreateCondBr(anywhere, begin, behind);
  b_.SetInsertPoint(begin);
  scopes_.emplace_back();
  Value* value = inside();
  scopes_.pop_back();
  if (value->getType()->isVectorTy() && !otherwise->getType()->isVectorTy()) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(before->getTerminator());
    otherwise = in_lanes(otherwise);
  } else if (otherwise->getType()->isVectorTy()) {
    value = in_lanes(value);
  }
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
  llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
  phi->addIncoming(otherwise, before);
  phi->addIncoming(value, from);
  return phi;
}

Value* ElementEmitter::Pad(const Request& request) {
  const InstructionId id = request.id, operand = module_.operands(id)[0];
  const auto sizes = Sizes(id), inner = Sizes(operand);
  const auto padding = Ints(id, AttributeKey::kPadding);
  Value* otherwise = EmitScalar(module_.operands(id)[1]);
  Index index = request.index;
  Condition condition;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t low = padding[3 * d], high = padding[3 * d + 1], step = padding[3 * d + 2] + 1;
    if (low == 0 && high == 0 && step == 1) continue;
    LaneNumber& number = math_.Of(index, sizes, d);
    number = math_.AddConstant(number, -low);
    // Between the elements alone; numbers below 0 have a remainder where the step is a power of
    // two.
    const bool is_between = step > 1 && low >= 0 && low < step && high < step &&
                            (low == 0 || std::has_single_bit(static_cast<uint64_t>(step)));
    if (!is_between) And(condition, IsBelow(number, (inner[d] - 1) * step + 1));
    if (step == 1) continue;
    const auto [quotient, rest] = math_.Divide(number, step);
    And(condition, IsBelow(rest, 1));
    number = quotient;
  }
  return Where(condition, {operand, std::move(index)}, otherwise);
}

Value* ElementEmitter::Concatenate(const Request& request) {
  const InstructionId id = request.id;
  const auto d = static_cast<size_t>(Ints(id, AttributeKey::kDimensions)[0]);
  const auto operands = module_.operands(id);
  Value* value = llvm::Constant::getNullValue(RegisterType(b_, module_.shape(id).element_type()));
  int64_t first = 0;
  for (const InstructionId operand : operands) {
    Index index = request.index;
    LaneNumber& number = math_.Of(index, Sizes(id), d);
    number = math_.AddConstant(number, -first);
    Condition condition;
    if (operands.size() > 1) And(condition, IsBelow(number, Sizes(operand)[d]));
    value = Where(condition, {operand, std::move(index)}, value);
    first += Sizes(operand)[d];
  }
  return value;
}

LaneNumber ElementEmitter::Start(InstructionId start, Index index, int64_t last) {
  const ElementType type = module_.shape(start).element_type();
  Value* value = Emit(start, std::move(index));
  const int bits = hlo::BitWidth(type) - (hlo::IsSigned(type) ? 1 : 0);
  const bool may_exceed = bits >= 63 || last < (int64_t{1} << bits) - 1;
  Value* limit = IntegerLike(value, last);
  if (hlo::IsSigned(type)) {
    value = Call(b_, llvm::Intrinsic::smax, {value, IntegerLike(value, 0)});
    if (may_exceed) value = Call(b_, llvm::Intrinsic::smin, {value, limit});
  } else if (may_exceed) {
    value = Call(b_, llvm::Intrinsic::umin, {value, limit});
  }
  const bool is_vector = value->getType()->isVectorTy();
  llvm::Type* to =
      is_vector ? b_.getIntNTy(static_cast<unsigned>(math_.lane_bits())) : b_.getInt64Ty();
  value = b_.CreateZExtOrTrunc(value, LanesLike(value, to));
  return is_vector ? math_.FromVector(value) : math_.FromScalar(value);
}

Value* ElementEmitter::DynamicSlice(const Request& request) {
  const InstructionId id = request.id;
  const auto operands = module_.operands(id);
  const auto sizes = Sizes(id), whole = Sizes(operands[0]);
  Index index = request.index;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == whole[d]) continue;  // it can only start at 0
    const LaneNumber start = Start(operands[1 + d], {}, whole[d] - sizes[d]);
    LaneNumber& number = math_.Of(index, sizes, d);
    number = math_.Add(start, number);
  }
  return Emit(operands[0], std::move(index));
}

Value* ElementEmitter::Gather(const Request& request) {
  const InstructionId id = request.id;
  const auto operands = module_.operands(id);
  const auto sizes = Sizes(id), whole = Sizes(operands[0]), index_sizes = Sizes(operands[1]);
  const hlo::GatherDims dims = hlo::GatherDimsOf(module_, id);
  const auto vector_dim = static_cast<size_t>(dims.index_vector_dim);

  // Dimensions of the indices, the vectors' own left out, are those of the result that are no
  // offsets, in order.
  Index result = request.index;
  std::vector<LaneNumber> batch;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!Contains(dims.offset_dims, d)) batch.push_back(math_.Of(result, sizes, d));
  }
  Index where;
  where.mask = request.index.mask;
  std::vector<LaneNumber> by_index_dim(index_sizes.size(), math_.Constant(0));
  for (size_t d = 0, next = 0; d < index_sizes.size(); ++d) {
    if (d != vector_dim) by_index_dim[d] = batch[next++];
    where.groups.push_back({1, by_index_dim[d]});
  }
  Index unmasked = where;
  unmasked.mask = nullptr;
  if (unmasked.is_uniform()) where = unmasked;

  std::vector<LaneNumber> numbers(whole.size(), math_.Constant(0));
  for (size_t k = 0; k < dims.start_index_map.size(); ++k) {
    const auto d = static_cast<size_t>(dims.start_index_map[k]);
    if (dims.slice_sizes[d] == whole[d]) continue;
    Index at = where;
    if (vector_dim < index_sizes.size()) {
      at.groups[vector_dim].number = math_.Constant(static_cast<int64_t>(k));
    }
    numbers[d] = Start(operands[1], std::move(at), whole[d] - dims.slice_sizes[d]);
  }
  for (size_t i = 0; i < dims.operand_batching_dims.size(); ++i) {
    const auto d = static_cast<size_t>(dims.operand_batching_dims[i]);
    const auto from = static_cast<size_t>(dims.start_indices_batching_dims[i]);
    // XLA lets the sizes differ; batching dimensions are indices like others to it.
    numbers[d] = index_sizes[from] <= whole[d] ? by_index_dim[from]
                                               : math_.AtMost(by_index_dim[from], whole[d] - 1);
  }
  Index index;
  index.mask = request.index.mask;
  size_t next = 0;
  for (const size_t d : dims.WindowDims(whole.size())) {
    const auto offset = static_cast<size_t>(dims.offset_dims[next++]);
    numbers[d] = math_.Add(numbers[d], math_.Of(result, sizes, offset));
  }
  for (const LaneNumber& number : numbers) index.groups.push_back({1, number});
  return Emit(operands[0], std::move(index));
}

}  // namespace hloscope::codegen
