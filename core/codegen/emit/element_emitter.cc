// Elements of plain instructions, one after the other without recursion.
#include "core/codegen/emit/element_emitter.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "core/codegen/emit/elementwise.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Opcode;
using llvm::Value;

namespace {

// Indices that go apart make an instruction stand in the code many times; fusion that lets them is
// not worth its code.
constexpr int64_t kMaxEmitted = 20000;

// Arrays of fewer bytes are in the cache, more or less.
constexpr int64_t kMinAheadBytes = 1 << 21;

}  // namespace

Value* ElementEmitter::Find(const Request& request) const {
  if (const auto it = fixed_.find(request.id.index); it != fixed_.end()) return it->second;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->find(request); found != scope->end()) return found->second;
  }
  return nullptr;
}

void ElementEmitter::Unify(Request& request) {
  if (!unifies_indices_ || !request.index.is_uniform() || request.index.groups.empty()) return;
  const auto sizes = Sizes(request.id);
  const LaneNumber offset = math_.Offset(request.index, sizes);
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(offset.base);
  if (known != nullptr) {
    request.index.groups = {{sizes.size(), math_.Constant(known->getSExtValue())}};
  }
}

Value* ElementEmitter::Failed(InstructionId id) {
  has_failed_ = true;
  return llvm::Constant::getNullValue(RegisterType(b_, module_.shape(id).element_type()));
}

bool ElementEmitter::IsPlain(InstructionId id) const {
  static constexpr hlo::OpcodeSet kSpecial = {
      Opcode::kConcatenate, Opcode::kConstant, Opcode::kDynamicSlice, Opcode::kGather,
      Opcode::kIota,        Opcode::kPad,      Opcode::kParameter};
  return !arrays_.contains(id.index) && !kSpecial.Has(module_[id].opcode);
}

Index ElementEmitter::OperandIndex(const Request& request, size_t operand) {
  const InstructionId id = request.id, of = module_.operands(id)[operand];
  const auto sizes = Sizes(id), operand_sizes = Sizes(of);
  Index index = request.index;
  switch (module_[id].opcode) {
    case Opcode::kBroadcast:
      return math_.Select(index, sizes, Ints(id, AttributeKey::kDimensions));
    case Opcode::kTranspose: {
      const auto order = Ints(id, AttributeKey::kDimensions);
      std::vector<int64_t> from(order.size());
      for (size_t i = 0; i < order.size(); ++i) {
        from[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      }
      return math_.Select(index, sizes, from);
    }
    case Opcode::kBitcast:
    case Opcode::kReshape:
      return math_.Reshape(index, sizes, operand_sizes);
    case Opcode::kSlice: {
      const auto slices = Ints(id, AttributeKey::kSlice);
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (slices[3 * d + 1] - slices[3 * d] == operand_sizes[d] && slices[3 * d + 2] == 1)
          continue;
        LaneNumber& number = math_.Of(index, sizes, d);
        number = math_.AddConstant(math_.Multiply(number, slices[3 * d + 2]), slices[3 * d]);
      }
      return index;
    }
    case Opcode::kReverse:
      for (const int64_t d : Ints(id, AttributeKey::kDimensions)) {
        LaneNumber& number = math_.Of(index, sizes, static_cast<size_t>(d));
        number = math_.AddConstant(math_.Multiply(number, -1), sizes[static_cast<size_t>(d)] - 1);
      }
      return index;
    default:
      if (operand_sizes.empty()) return {};  // a scalar among arrays
      return index;
  }
}

std::vector<ElementEmitter::Request> ElementEmitter::OperandsOf(const Request& request) {
  std::vector<Request> requests;
  const auto operands = module_.operands(request.id);
  for (size_t i = 0; i < operands.size(); ++i) {
    requests.push_back({operands[i], OperandIndex(request, i)});
    if (requests.back().index.mask == nullptr) continue;
    Index unmasked = requests.back().index;
    unmasked.mask = nullptr;
    if (unmasked.is_uniform()) requests.back().index = std::move(unmasked);
  }
  return requests;
}

Value* ElementEmitter::Finish(const Frame& frame) {
  const InstructionId id = frame.request.id;
  static constexpr hlo::OpcodeSet kMoved = {Opcode::kBitcast, Opcode::kBroadcast,
                                            Opcode::kReshape, Opcode::kReverse,
                                            Opcode::kSlice,   Opcode::kTranspose};
  if (kMoved.Has(module_[id].opcode)) return frame.values[0];
  if (frame.values.empty() || !module_.shape(id).IsArray()) return Failed(id);
  Value* value = Elementwise(b_, module_, id, frame.values);
  return value == nullptr ? Failed(id) : value;
}

Value* ElementEmitter::Emit(InstructionId id, Index index) {
  std::vector<Frame> frames;
  Value* last = nullptr;
  // Gives the value if it is there or can be had at once; else begins a frame.
  const auto ask = [&](Request request) -> Value* {
    Unify(request);
    if (Value* found = Find(request)) return found;
    if (++emitted_ > kMaxEmitted) return Failed(request.id);
    if (IsPlain(request.id)) {
      std::vector<Request> operands = OperandsOf(request);
      frames.push_back({std::move(request), std::move(operands), {}});
      return nullptr;
    }
    Value* value = Special(request);
    scopes_.back()[std::move(request)] = value;
    return value;
  };
  last = ask({id, std::move(index)});
  while (!frames.empty()) {
    if (last != nullptr) frames.back().values.push_back(last);
    Frame& top = frames.back();
    last = nullptr;
    if (top.values.size() < top.operands.size() && !has_failed_) {
      last = ask(top.operands[top.values.size()]);
      continue;
    }
    last = has_failed_ ? Failed(top.request.id) : Finish(top);
    scopes_.back()[top.request] = last;
    frames.pop_back();
    if (frames.empty()) return last;
  }
  return last;
}

Index ElementEmitter::OnlyElement(InstructionId id) {
  Index index;
  if (const size_t rank = Sizes(id).size(); rank > 0) {
    index.groups.push_back({rank, math_.Constant(0)});
  }
  return index;
}

void ElementEmitter::Prefetch(InstructionId id, Value* address) {
  const hlo::Shape& shape = module_.shape(id);
  const int64_t bytes = hlo::StorageBytes(shape.element_type());
  if (ProductOf(shape.dimensions()) * bytes < kMinAheadBytes) return;
  constexpr uint32_t kRead = 0, kAllCaches = 3, kData = 1;
  Value* ahead = b_.getInt64(static_cast<uint64_t>(ahead_ * bytes));
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {b_.CreateGEP(b_.getInt8Ty(), address, ahead), b_.getInt32(kRead),
                      b_.getInt32(kAllCaches), b_.getInt32(kData)});
}

Value* ElementEmitter::Load(const Array& array, const Request& request) {
  const ElementType type = module_.shape(request.id).element_type();
  llvm::Type* element = MemoryType(b_, type);
  const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(type)));
  const LaneNumber offset = math_.Offset(request.index, Sizes(request.id));
  const auto width = static_cast<unsigned>(math_.width());
  const auto fixed = [&](llvm::Instruction* load) {
    if (array.is_fixed) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(b_.getContext(), {}));
    }
    return FromMemory(b_, load, type);
  };
  if (offset.is_uniform() || width == 1) {
    Value* at =
        offset.lanes != nullptr ? b_.CreateSExt(offset.lanes, b_.getInt64Ty()) : offset.base;
    // A lane of its own that the mask leaves out may be anywhere: it reads the first element.
    Value* own = width == 1 ? request.index.mask : nullptr;
    if (own != nullptr) at = b_.CreateSelect(own, at, b_.getInt64(0));
    const auto load = [&] {
      return fixed(b_.CreateAlignedLoad(element, b_.CreateGEP(element, array.address, at), align));
    };
    return load_hook_ ? load_hook_(request.id, at, load) : load();
  }
  llvm::Type* vector = llvm::FixedVectorType::get(element, width);
  Value* mask = request.index.mask;
  if (offset.lanes == nullptr && (offset.step == 1 || offset.step == -1)) {
    Value* first = offset.base;
    if (offset.step < 0) first = b_.CreateSub(first, b_.getInt64(width - 1));
    Value* address = b_.CreateGEP(element, array.address, first);
    if (offset.step < 0 && mask != nullptr) mask = b_.CreateVectorReverse(mask);
    if (ahead_ != 0 && offset.step > 0 && mask == nullptr) Prefetch(request.id, address);
    llvm::Instruction* load =
        mask == nullptr
            ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(vector, address, align))
            : b_.CreateMaskedLoad(vector, address, align, mask,
                                  llvm::Constant::getNullValue(vector));
    Value* value = fixed(load);
    return offset.step < 0 ? b_.CreateVectorReverse(value) : value;
  }
  Value* addresses = b_.CreateGEP(element, array.address, math_.Vector(offset));
  return fixed(
      b_.CreateMaskedGather(vector, addresses, align, mask, llvm::Constant::getNullValue(vector)));
}

}  // namespace hloscope::codegen
