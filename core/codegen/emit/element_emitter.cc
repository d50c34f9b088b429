// Elements of plain instructions, one after the other without recursion.
#include "core/codegen/emit/element_emitter.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

namespace {

// Lanes that read at constant distances from one address, each within a few vectors of the others:
// those vectors are read and shuffled, which costs a fraction of a gather. Nothing outside of the
// range from the first to the last element that is wanted is read, and with a mask that is known
// only when the kernel runs nothing but what it lets in.
class ShuffledLoad {
 public:
  ShuffledLoad(Builder& b, llvm::Type* element, Value* address, llvm::Align align)
      : b_(b), element_(element), address_(address), align_(align) {}

  // The distances of the lanes, in elements.
  static bool Pays(std::span<const int64_t> distances) {
    const auto [low, high] = std::ranges::minmax(distances);
    return high - low < kMaxVectors * std::ssize(distances);
  }

  // Lanes that a constant mask leaves out are any of the elements.
  template <typename Loaded>
  Value* Emit(std::span<const int64_t> distances, Value* mask, const Loaded& loaded) {
    const auto* known = mask == nullptr ? nullptr : llvm::dyn_cast<llvm::Constant>(mask);
    const auto is_wanted = [&](size_t lane) {
      return known == nullptr ||
             !known->getAggregateElement(static_cast<unsigned>(lane))->isNullValue();
    };
    int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
    for (size_t lane = 0; lane < distances.size(); ++lane) {
      if (!is_wanted(lane)) continue;
      low = std::min(low, distances[lane]);
      high = std::max(high, distances[lane]);
    }
    const int64_t width = std::ssize(distances);
    const auto span = static_cast<uint64_t>(high - low + 1);
    const int64_t part = std::min(width, static_cast<int64_t>(std::bit_floor(span)));
    Value* out = nullptr;
    for (int64_t first = low; first <= high; first += part) {
      const int64_t from = std::min(first, high - part + 1);
      std::vector<int> order(distances.size(), -1);
      for (size_t lane = 0; lane < distances.size(); ++lane) {
        const int64_t at = std::clamp(distances[lane], low, high);
        if (at >= first && at < first + part) order[lane] = static_cast<int>(at - from);
      }
      if (std::ranges::all_of(order, [](int element) { return element < 0; })) continue;
      llvm::Instruction* elements = Part(from, part, order, known == nullptr ? mask : nullptr);
      Value* vector = b_.CreateShuffleVector(loaded(elements), order);
      if (out != nullptr) {
        for (size_t lane = 0; lane < order.size(); ++lane) {
          order[lane] = static_cast<int>(lane) + (order[lane] < 0 ? 0 : static_cast<int>(width));
        }
        vector = b_.CreateShuffleVector(out, vector, order);
      }
      out = vector;
    }
    return out;
  }

 private:
  static constexpr int64_t kMaxVectors = 4;

  llvm::Instruction* Part(int64_t from, int64_t part, const std::vector<int>& order, Value* mask) {
    llvm::Type* vector = llvm::FixedVectorType::get(element_, static_cast<unsigned>(part));
    Value* address = b_.CreateGEP(element_, address_, b_.getInt64(static_cast<uint64_t>(from)));
    if (mask == nullptr) return b_.CreateAlignedLoad(vector, address, align_);
    return b_.CreateMaskedLoad(vector, address, align_, MaskOf(part, order, mask),
                               llvm::Constant::getNullValue(vector));
  }

  // Which elements any lane wants that the mask lets in.
  Value* MaskOf(int64_t part, const std::vector<int>& order, Value* mask) {
    std::vector<std::vector<int>> lanes_of(static_cast<size_t>(part));
    size_t most = 0;
    for (size_t lane = 0; lane < order.size(); ++lane) {
      if (order[lane] < 0) continue;
      auto& lanes = lanes_of[static_cast<size_t>(order[lane])];
      lanes.push_back(static_cast<int>(lane));
      most = std::max(most, lanes.size());
    }
    Value* none = llvm::Constant::getNullValue(mask->getType());
    Value* out = nullptr;
    for (size_t nth = 0; nth < most; ++nth) {
      std::vector<int> from;
      for (const auto& lanes : lanes_of) {
        from.push_back(nth < lanes.size() ? lanes[nth] : static_cast<int>(order.size()));
      }
      Value* wanted = b_.CreateShuffleVector(mask, none, from);
      out = out == nullptr ? wanted : b_.CreateOr(out, wanted);
    }
    return out;
  }

  Builder& b_;
  llvm::Type* element_;
  Value* address_;
  llvm::Align align_;
};

}  // namespace

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
  if (const auto* known = llvm::dyn_cast_or_null<llvm::Constant>(mask);
      known != nullptr && known->isNullValue()) {
    return FromMemory(b_, llvm::Constant::getNullValue(vector), type);  // no lane reads
  }
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
  if (offset.lanes == nullptr) {
    std::vector<int64_t> distances;
    for (int lane = 0; lane < math_.width(); ++lane) distances.push_back(offset.AddedIn(lane));
    if (ShuffledLoad::Pays(distances)) {
      Value* address = b_.CreateGEP(element, array.address, offset.base);
      return ShuffledLoad(b_, element, address, align).Emit(distances, mask, fixed);
    }
  }
  Value* addresses = b_.CreateGEP(element, array.address, math_.Vector(offset));
  return fixed(
      b_.CreateMaskedGather(vector, addresses, align, mask, llvm::Constant::getNullValue(vector)));
}

}  // namespace hloscope::codegen
